package accounts

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

const maxTokenDescription = 200

// TokenLimits say how long access tokens are valid.
type TokenLimits struct {
	Max     time.Duration // 0: no limit
	Default time.Duration // of a token that is created without a lifespan
}

// FreshSignIn is how long after a sign-in a user can change the password without the old one.
// Determined's own det user change-password and User.change_password send the new one
// alone, so a sign-in shortly before is all that tells its user from somebody who got
// hold of a session: det user login, then det user change-password.
const FreshSignIn = 15 * time.Minute

func days(d time.Duration) string { return strconv.FormatFloat(d.Hours()/24, 'f', -1, 64) + " days" }

func ofToken(t Token) auth.Object {
	return auth.Object{Kind: v1.KindToken, Name: fmt.Sprintf("%s %d", v1.KindToken, t.ID), OwnerID: t.UserID}
}

// onToken is an access token that the path names. Other users' tokens are not found.
func (d Deps) onToken() rest.Object[Token] {
	o := rest.On("id", func(ctx context.Context, id int) (Token, error) { return TokenByID(ctx, d.DB, id) }, ofToken)
	o.Refusal = func(_ *rest.Call, _ auth.Verb, t Token) error {
		return fault.New(fault.NotFound, "access token %d not found", t.ID)
	}
	return o
}

func wireToken(t Token) v1.TokenInfo {
	return v1.TokenInfo{ID: t.ID, UserID: t.UserID, Description: t.Description, CreatedAt: &t.CreatedAt, Expiry: t.Expiry,
		Revoked: t.RevokedAt != nil, TokenType: v1.TokenTypeAccess, ReadOnly: t.ReadOnly, LastUsedAt: t.LastUsedAt}
}

func (d Deps) listTokens(ctx context.Context, c *rest.Call, req *v1.GetAccessTokensRequest) (*v1.GetAccessTokensResponse, error) {
	// A call that names tokens gets them even if they are no longer valid.
	f := TokenFilter{Username: req.Username, IDs: req.TokenIDs, Inactive: req.ShowInactive || len(req.TokenIDs) > 0}
	if !c.Who().IsAdmin() {
		f.UserID = c.Who().UserID
	}
	var err error
	f.Sort, f.Desc, err = rest.Sorting(req.Order, map[string]string{"SORT_BY_USER_ID": "user", "SORT_BY_EXPIRY": "expiry", "SORT_BY_CREATED_AT": "created",
		"SORT_BY_TOKEN_TYPE": "type", "SORT_BY_REVOKED": "revoked", "SORT_BY_DESCRIPTION": "description"})
	if err != nil {
		return nil, err
	}
	total, err := CountTokens(ctx, d.DB, f)
	list, p, err := rest.Paged(req.Window, total, err, func(from, n int) ([]Token, error) { return Tokens(ctx, d.DB, f, from, n) })
	if err != nil {
		return nil, err
	}
	return &v1.GetAccessTokensResponse{Pagination: &p, TokenInfo: each.Of(list, wireToken)}, nil
}

func (d Deps) createToken(ctx context.Context, c *rest.Call, req *v1.PostAccessTokenRequest) (*v1.PostAccessTokenResponse, error) {
	// Otherwise somebody who found a token could create a second one, and keep access after the first is revoked.
	if c.Who().AccessToken {
		return nil, fault.New(fault.Forbidden, "an access token cannot create another; sign in with det user login")
	}
	me, err := UserByID(ctx, d.DB, c.Who().UserID)
	if err != nil {
		return nil, err
	}
	if me.Service { // its session belongs to a Nomad job and ends with that job's identity; a token would outlive both
		return nil, fault.New(fault.Forbidden, "the service account %s cannot create access tokens; an admin creates them with det token create %s", me.Username, me.Username)
	}
	age, err := SessionAge(ctx, d.DB, c.Who().SessionID)
	if err != nil {
		return nil, err
	}
	if age > FreshSignIn {
		return nil, fault.New(fault.Forbidden, "the sign-in of %s is more than %d minutes old, and an access token outlives it: sign in again with det user login", c.Who().Username, int(FreshSignIn.Minutes()))
	}
	t := Token{UserID: cmp.Or(req.UserID, c.Who().UserID), Description: optional.Value(req.Description), ReadOnly: optional.Value(req.ReadOnly)}
	if t.UserID != c.Who().UserID && !auth.Can(c.Who(), auth.Administer, auth.Object{Kind: v1.KindUser}) {
		return nil, fault.New(fault.Forbidden, "only an admin may create access tokens for other users")
	}
	if _, err := UserByID(ctx, d.DB, t.UserID); err != nil {
		return nil, err
	}
	if err := checkTokenDescription(t.Description); err != nil {
		return nil, err
	}
	life, err := d.Tokens.life(req.Lifespan)
	if err != nil {
		return nil, err
	}
	token, hash := auth.NewToken()
	id, err := CreateToken(ctx, d.DB, t, hash, life)
	return &v1.PostAccessTokenResponse{Token: token, TokenID: id}, err
}

func checkTokenDescription(text string) error {
	if n := utf8.RuneCountInString(text); n > maxTokenDescription {
		return fault.New(fault.Invalid, "description: %d characters are over the limit of %d", n, maxTokenDescription)
	}
	return nil
}

// life returns how long a token with this lifespan is valid; 0: for ever.
func (l TokenLimits) life(asked *string) (time.Duration, error) {
	if asked == nil || *asked == "" {
		return l.Default, nil
	}
	if *asked == "-1" {
		if l.Max > 0 {
			return 0, fault.New(fault.Invalid, "lifespan: tokens must expire within %s on this cluster (tokens.max_days)", days(l.Max))
		}
		return 0, nil
	}
	life, err := time.ParseDuration(*asked)
	if err != nil || life <= 0 {
		return 0, fault.New(fault.Invalid, "lifespan: expected a duration such as 720h, or -1 for a token that does not expire, found %q", fault.Clip(*asked))
	}
	if l.Max > 0 && life > l.Max {
		return 0, fault.New(fault.Invalid, "lifespan: %s are over the limit of %s (tokens.max_days)", days(life), days(l.Max))
	}
	return life, nil
}

func (d Deps) changeToken(ctx context.Context, c *rest.Call, t Token, req *v1.PatchAccessTokenRequest) (*v1.PatchAccessTokenResponse, error) {
	if req.Description != nil {
		if err := checkTokenDescription(*req.Description); err != nil {
			return nil, err
		}
	}
	revoke := req.SetRevoked != nil && *req.SetRevoked
	t, err := ChangeToken(ctx, d.DB, t.ID, req.Description, revoke)
	if err != nil {
		return nil, err
	}
	if revoke {
		d.Callers.AccountChanged(t.UserID)
	}
	return &v1.PatchAccessTokenResponse{TokenInfo: new(wireToken(t))}, nil
}
