package login

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/audit"
	"github.com/detent-ml/detent/master/cache"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/oidc"
	"github.com/detent-ml/detent/master/sleep"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	maxRechecks  = 8                // questions to a provider at once
	recheckStep  = 2 * time.Second  // between two searches for users who are due
	recheckTime  = 15 * time.Second // for one question
	recheckStore = 5 * time.Second  // for storing an answer, also when the master is stopping
	// recheckLease is longer than a question, a refresh that has begun at its end (10 seconds), and the storing
	// of both answers take together, so that no other master asks at the same time.
	recheckLease  = 40 * time.Second
	maxRecheckGap = 30 * time.Second // between two questions to a provider that does not answer
	// awayAfter is how many failures in a row mean that a provider is unavailable.
	awayAfter = 3
	// recheckWarnings limits the warnings about one user.
	recheckWarnings    = time.Hour
	maxRecheckWarnings = 1000 // users
)

// Recheck repeatedly asks the identity providers about users who are signed in, and applies
// their answers as a sign-in does. Any number of masters may do it: each claims the users about
// whom it asks. Each provider has its own rechecker, so that no provider delays another.
func Recheck(ctx context.Context, d Deps, running *sync.WaitGroup) {
	if d.Providers == nil {
		return
	}
	for _, cfg := range d.Providers.List() {
		if cfg.Recheck > 0 {
			r := &rechecker{d: d, cfg: cfg, warned: cache.NewRates[int](1, recheckWarnings, maxRecheckWarnings)}
			running.Go(func() { r.run(ctx) })
		}
	}
}

// A rechecker asks one provider.
type rechecker struct {
	d      Deps
	cfg    oidc.Config
	warned *cache.Rates[int] // by user
	failed int               // questions in a row that the provider did not answer
}

func (r *rechecker) run(ctx context.Context) {
	for sleep.For(ctx, r.pause()) == nil {
		for r.round(ctx) && ctx.Err() == nil {
		}
	}
}

// pause is the time until the next round; it grows while the provider does not answer.
func (r *rechecker) pause() time.Duration {
	return min(recheckStep<<min(r.failed, 10), maxRecheckGap)
}

// round asks about some users who are due, or about one while the provider does not answer. It reports whether
// more may be due.
func (r *rechecker) round(ctx context.Context) (more bool) {
	most := maxRechecks
	if r.failed > 0 {
		most = 1
	}
	list, err := ClaimChecks(ctx, r.d.DB, r.cfg.Name, most, recheckLease)
	if err != nil || len(list) == 0 {
		return false // without a database the master knows no user; the next round tries again
	}
	errs := make([]error, len(list))
	var asked sync.WaitGroup
	for i, one := range list {
		asked.Go(func() { errs[i] = r.check(ctx, one) })
	}
	asked.Wait()
	if ctx.Err() == nil {
		r.note(errs)
	}
	return r.failed == 0 && len(list) == most
}

// note counts failures, and logs once that the provider is away, and that it answers again.
func (r *rechecker) note(errs []error) {
	for _, err := range errs {
		if !fault.Is(err, fault.Unavailable) {
			if r.failed >= awayAfter {
				r.d.Log.Info("the identity provider answers again", "provider", r.cfg.Name)
			}
			r.failed = 0
			return
		}
	}
	before := r.failed
	r.failed += len(errs)
	if before < awayAfter && r.failed >= awayAfter {
		r.d.Log.Warn("the identity provider does not answer questions about users; they stay signed in with the groups that are known, until it answers or their sessions end",
			"provider", r.cfg.Name, "error", errors.Unwrap(errs[0]))
	}
}

// check asks about a user, and applies the answer. The error is that of the provider.
func (r *rechecker) check(ctx context.Context, c Check) error {
	ctx, cancel := context.WithTimeout(ctx, recheckTime)
	defer cancel()
	who, err := r.ask(ctx, c)
	switch {
	case err == nil && who.Unknown && who.Grant.Short:
		r.end(ctx, c)
		return nil
	case err == nil:
		if failed := r.apply(ctx, c, who); failed != nil {
			r.warn(c, "could not apply all of an identity provider's answer about a user; the master asks again", failed)
			r.putOff(ctx, c)
		}
		return nil
	case errors.Is(err, oidc.ErrEnded):
		r.end(ctx, c)
		return nil
	case errors.Is(err, oidc.ErrSpent):
		r.stored(c, DeleteTokens(ctx, r.d.DB, c))
		return nil
	case errors.Is(err, errUnreadable):
		r.warn(c, "could not ask an identity provider about a user: the stored tokens cannot be read; groups and rights of the user stay as they are until the next sign-in", err)
		r.stored(c, DeleteTokens(ctx, r.d.DB, c))
		return nil
	case !fault.Is(err, fault.Unavailable):
		r.warn(c, "an identity provider's answer about a user cannot be used; groups and rights of the user stay as they are, and the master asks again", err)
	}
	r.putOff(ctx, c)
	return err
}

// putOff lets others come first.
func (r *rechecker) putOff(ctx context.Context, c Check) {
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), recheckStore)
	defer cancel()
	r.stored(c, PutOffCheck(late, r.d.DB, c, r.cfg.Recheck))
}

// errUnreadable means that the tokens of a session cannot be decrypted.
var errUnreadable = errors.New("the tokens of a session cannot be used")

// ask reads what the provider says about a user now.
func (r *rechecker) ask(ctx context.Context, c Check) (oidc.Identity, error) {
	grant, err := r.d.Providers.Open(r.cfg.Name, c.Tokens, c.TokenHash)
	if err != nil || grant.Subject != c.Subject {
		return oidc.Identity{}, errors.Join(errUnreadable, err)
	}
	return r.d.Providers.Recheck(ctx, r.cfg.Name, grant, func(next oidc.Grant) error {
		sealed, err := r.d.Providers.Seal(r.cfg.Name, next, c.TokenHash)
		if err != nil {
			return err
		}
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), recheckStore)
		defer cancel()
		return ReplaceTokens(late, r.d.DB, c, sealed)
	})
}

// apply applies what has changed since the last answer, as a sign-in does.
func (r *rechecker) apply(ctx context.Context, c Check, who oidc.Identity) error {
	known := knownOf(who, r.cfg)
	if who.Unknown {
		r.stored(c, EndCheck(ctx, r.d.DB, c, c.Known, r.cfg.Recheck))
		return nil
	}
	if string(known) == string(c.Known) {
		r.stored(c, EndCheck(ctx, r.d.DB, c, known, r.cfg.Recheck))
		return nil
	}
	if mine, err := Checking(ctx, r.d.DB, c); err != nil || !mine {
		return err // a sign-in in between knows better
	}
	done := map[string]any{}
	joined, left, err := r.d.syncGroups(ctx, c.UserID, c.Username, who, r.cfg)
	if len(joined)+len(left) > 0 {
		done["joinedGroups"], done["leftGroups"] = joined, left
	}
	if err == nil && who.Admin != nil && *who.Admin != c.Admin {
		if _, err = accounts.ChangeUser(ctx, r.d.DB, r.d.Roles, c.UserID, accounts.UserChange{Admin: who.Admin}, 0); err == nil {
			done["admin"] = *who.Admin
		}
	}
	if len(done) > 0 {
		r.d.Callers.AccountChanged(c.UserID)
		r.record(ctx, c, v1.Change, done)
	}
	if err == nil {
		r.stored(c, EndCheck(ctx, r.d.DB, c, known, r.cfg.Recheck))
	}
	return err
}

// end ends the session whose tokens the provider has ended.
func (r *rechecker) end(ctx context.Context, c Check) {
	if err := EndChecked(ctx, r.d.DB, c); err != nil {
		r.warn(c, "could not end a session that an identity provider has ended; the master asks again", err)
		return
	}
	r.d.Callers.AccountChanged(c.UserID)
	r.d.Log.Info("a session has ended, because the identity provider has ended the sign-in", "provider", r.cfg.Name, "username", c.Username, "session", c.SessionID)
	r.record(ctx, c, "logout", map[string]any{})
}

// record adds a change to the audit trail.
func (r *rechecker) record(ctx context.Context, c Check, verb v1.Verb, done map[string]any) {
	names, err := json.Marshal(done)
	if err != nil {
		r.stored(c, err)
		return
	}
	e := audit.Entry{UserID: &c.UserID, Username: c.Username, Credential: "provider " + r.cfg.Name, Verb: string(verb), Kind: string(v1.KindUser), Object: strconv.Itoa(c.UserID),
		Names: names, Status: new(http.StatusOK)}
	if verb != v1.Change {
		e.Kind, e.Object = string(v1.KindSession), strconv.FormatInt(c.SessionID, 10)
	}
	_, err = audit.Begin(ctx, r.d.DB, e)
	r.stored(c, err)
}

// stored logs what could not be stored; after the lease a master asks about the user again.
func (r *rechecker) stored(c Check, err error) {
	if err != nil {
		r.warn(c, "could not store all that follows from an identity provider's answer about a user", err)
	}
}

func (r *rechecker) warn(c Check, what string, err error) {
	if r.warned.Take(c.UserID, time.Now()) {
		r.d.Log.Warn(what, "provider", r.cfg.Name, "username", c.Username, "error", err)
	}
}

// tokensFor encrypts the tokens of a sign-in; nil if the provider is not asked again.
func (d Deps) tokensFor(who oidc.Identity, cfg oidc.Config, tokenHash []byte) []byte {
	if cfg.Recheck <= 0 {
		return nil
	}
	sealed, err := d.Providers.Seal(cfg.Name, who.Grant, tokenHash)
	if err != nil {
		d.Log.Warn("cannot ask an identity provider again about a user before the next sign-in", "provider", cfg.Name, "username", who.Username, "error", err)
		return nil
	}
	return sealed
}

// knownOf is the hash of what a sign-in or a recheck applies.
func knownOf(who oidc.Identity, cfg oidc.Config) []byte {
	m, _ := memberships(who, cfg)
	if !cfg.Sync.On() {
		m.Groups = nil
	}
	text, err := json.Marshal(struct {
		Memberships accounts.Memberships
		Admin       *bool
	}{m, who.Admin})
	if err != nil {
		return nil // not reached: the types have a form in JSON
	}
	sum := sha256.Sum256(text)
	return sum[:]
}
