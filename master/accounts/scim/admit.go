package scim

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"strings"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
)

// Service is the caller of the endpoints of SCIM.
const Service = "scim"

// Limits for SCIM clients. They hold for each master.
const (
	maxCalls     = 8 // at once
	maxPerMinute = 6000
	MaxWrong     = 30 // wrong secrets of an address in accounts.LoginWindow
	callWait     = 5 * time.Second
)

// Secrets are hashes of the secrets of SCIM clients.
type Secrets struct {
	Tokens [][32]byte // after Bearer
	Logins [][32]byte // username:password, after Basic
}

// HashSecret returns the hash by which secrets are compared.
func HashSecret(secret string) [32]byte { return sha256.Sum256([]byte(secret)) }

// fits reports whether a header has one of the secrets. It compares hashes in constant time, with every secret, so
// that its time reveals nothing.
func (s *Secrets) fits(header string) bool {
	scheme, given, _ := strings.Cut(strings.TrimSpace(header), " ")
	given = strings.TrimSpace(given)
	var known [][32]byte
	switch {
	case strings.EqualFold(scheme, "bearer"):
		known = s.Tokens
	case strings.EqualFold(scheme, "basic"):
		b, err := base64.StdEncoding.DecodeString(given)
		if err != nil {
			return false
		}
		known, given = s.Logins, string(b)
	}
	hash, found := HashSecret(given), 0
	for _, k := range known {
		found |= subtle.ConstantTimeCompare(hash[:], k[:])
	}
	return found == 1 && given != ""
}

// calls limits the calls of SCIM clients.
type calls struct {
	slots chan struct{}

	mu    sync.Mutex // guards the fields below
	since time.Time
	calls int
}

func newCalls() *calls { return &calls{slots: make(chan struct{}, maxCalls)} }

// count counts a call, and reports whether there were too many in this minute.
func (s *calls) count(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.since) >= time.Minute {
		s.since, s.calls = now, 0
	}
	s.calls++
	return s.calls <= maxPerMinute
}

// admit checks the secret of a SCIM client before its body is read, and runs the handler.
func (d Deps) admit(c *rest.Call, run func(who auth.Who) error) error {
	if d.Secrets == nil {
		return fault.New(fault.NotFound, "SCIM is not switched on; an administrator can do so with scim.enabled in the master's configuration")
	}
	who := auth.Who{Username: Service, Service: Service}
	if !d.Secrets.fits(c.Get("Authorization")) {
		return c.Reject(d.wrongSecret(c))
	}
	if !d.calls.count(time.Now()) {
		return fault.New(fault.TooMany, "more than %d calls in a minute; try again later", maxPerMinute)
	}
	wait := time.NewTimer(callWait)
	defer wait.Stop()
	select {
	case d.calls.slots <- struct{}{}:
		defer func() { <-d.calls.slots }()
	case <-wait.C:
		return fault.New(fault.TooMany, "more than %d calls at once; try again", maxCalls)
	}
	return run(who)
}

// wrongSecret counts a wrong secret. The right secret is accepted regardless of the number of wrong
// ones from the same address, so nobody can lock the client out.
func (d Deps) wrongSecret(c *rest.Call) error {
	c.Set("WWW-Authenticate", `Bearer realm="scim"`)
	ctx, cancel := c.Within()
	defer cancel()
	key := "scim " + c.Address()
	tallies, err := accounts.CountLogin(ctx, d.DB, []string{key}, accounts.LoginWindow)
	if err != nil {
		return err
	}
	if t := tallies[key]; t.Tries > MaxWrong {
		return fault.New(fault.TooMany, "too many wrong secrets from your address; try again in %d seconds", max(0, int(t.Wait))+1)
	}
	return fault.New(fault.Unauthenticated, "the secret of the SCIM client is missing or wrong: send that of scim.auth in the master's configuration, in the header Authorization")
}
