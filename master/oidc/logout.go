package oidc

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/detent-ml/detent/master/fault"
)

const (
	maxLogoutToken = 8 << 10
	logoutEvent    = "http://schemas.openid.net/event/backchannel-logout"
	// A sign-out is accepted for logoutAge after it was issued, by clocks that differ by skew.
	logoutAge = 10 * time.Minute
	skew      = time.Minute
)

// LogoutRepeats is how long a sign-out is stored to reject its repetition: as long as its token is valid.
const LogoutRepeats = logoutAge + 2*skew

// A Logout is a sign-out that a provider asks for (OpenID Connect Back-Channel Logout 1.0): of the
// session SID there, or, without it, of all sessions of the subject.
type Logout struct {
	Issuer, ID   string // together name the sign-out
	Subject, SID string
}

// Logout checks a token with which a provider asks for a sign-out.
func (p *Providers) Logout(ctx context.Context, token string, now time.Time) (Logout, error) {
	issuer, err := claimedIssuer(token)
	if err != nil {
		return Logout{}, err
	}
	err = fault.New(fault.Invalid, "logout_token: the issuer %q is no identity provider of this cluster", fault.Clip(issuer))
	for _, one := range p.list { // several entries may have one issuer, with different clients
		if one.Issuer != issuer {
			continue
		}
		var l Logout
		if l, err = one.logout(ctx, token, now); err == nil {
			return l, nil
		}
	}
	return Logout{}, err
}

// claimedIssuer reads the issuer in a token that nobody has checked yet, and its type.
func claimedIssuer(token string) (string, error) {
	parts := strings.Split(token, ".")
	if len(token) > maxLogoutToken || len(parts) != 3 {
		return "", fault.New(fault.Invalid, "logout_token: expected a signed token of up to %d bytes", maxLogoutToken)
	}
	var header struct {
		Type string `json:"typ"`
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	for i, into := range []any{&header, &claims} {
		b, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil || json.Unmarshal(b, into) != nil {
			return "", fault.New(fault.Invalid, "logout_token: is no JSON Web Token")
		}
	}
	switch kind := strings.ToLower(strings.TrimPrefix(strings.ToLower(header.Type), "application/")); kind {
	case "", "jwt", "logout+jwt":
	default:
		return "", fault.New(fault.Invalid, "logout_token: a token of the type %q is none for a sign-out", fault.Clip(header.Type))
	}
	return claims.Issuer, nil
}

// logout checks the signature, the issuer, the audience and the claims of a token.
func (p *provider) logout(ctx context.Context, token string, now time.Time) (Logout, error) {
	_, found, err := p.oauth(ctx)
	if err != nil {
		return Logout{}, err
	}
	checked, err := found.VerifierContext(p.with(ctx), &oidc.Config{ClientID: p.ClientID, SkipExpiryCheck: true}).Verify(p.with(ctx), token)
	if err != nil {
		return Logout{}, fault.Wrap(fault.Invalid, err, "logout_token: the identity provider %s has not signed it for this cluster", p.Name)
	}
	var claims map[string]json.RawMessage
	if err := checked.Claims(&claims); err != nil {
		return Logout{}, fault.Wrap(fault.Invalid, err, "logout_token: is no JSON Web Token")
	}
	return readLogout(claims, now)
}

// readLogout checks the claims of a token whose signature was checked.
func readLogout(claims map[string]json.RawMessage, now time.Time) (l Logout, err error) {
	var of struct {
		Issuer, ID, Subject, SID string
		At                       *float64
		Expires                  *float64
		Events                   map[string]json.RawMessage
	}
	for name, into := range map[string]any{"iss": &of.Issuer, "jti": &of.ID, "sub": &of.Subject, "sid": &of.SID, "iat": &of.At, "exp": &of.Expires, "events": &of.Events} {
		if raw, has := claims[name]; has && json.Unmarshal(raw, into) != nil {
			return l, fault.New(fault.Invalid, "logout_token: the claim %s is of another type", name)
		}
	}
	var event map[string]json.RawMessage
	raw, has := of.Events[logoutEvent]
	_, nonce := claims["nonce"]
	age := time.Duration(0)
	if of.At != nil {
		age = now.Sub(time.Unix(int64(*of.At), 0))
	}
	switch {
	case !has || json.Unmarshal(raw, &event) != nil || event == nil:
		err = fault.New(fault.Invalid, "logout_token: the claim events has no sign-out")
	case nonce:
		err = fault.New(fault.Invalid, "logout_token: has a nonce, as tokens of a sign-in have")
	case of.ID == "" || len(of.ID) > maxClaim:
		err = fault.New(fault.Invalid, "logout_token: jti: expected 1 to %d bytes", maxClaim)
	case of.Subject == "" && of.SID == "":
		err = fault.New(fault.Invalid, "logout_token: has neither sub nor sid")
	case len(of.Subject) > maxClaim || len(of.SID) > maxClaim:
		err = fault.New(fault.Invalid, "logout_token: sub or sid is over the limit of %d bytes", maxClaim)
	case of.At == nil || age > logoutAge || age < -skew:
		err = fault.New(fault.Invalid, "logout_token: iat: expected a time within the last %d minutes", int(logoutAge.Minutes()))
	case of.Expires != nil && now.Sub(time.Unix(int64(*of.Expires), 0)) > skew:
		err = fault.New(fault.Invalid, "logout_token: has expired")
	}
	return Logout{Issuer: of.Issuer, ID: of.ID, Subject: of.Subject, SID: of.SID}, err
}
