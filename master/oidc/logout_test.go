package oidc

import (
	"crypto/rand"
	"crypto/rsa"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/nomad/servers/identitytest"
)

// TestLogoutTokens: which tokens end sessions.
func TestLogoutTokens(t *testing.T) {
	s, other := identitytest.NewSigner(t), identitytest.NewSigner(t)
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p := New([]Config{{Name: "else", Issuer: s.Issuer, ClientID: "another"}, {Name: "corp", Issuer: s.Issuer, ClientID: "detent"}}, "http://127.0.0.1/oidc/callback")
	now := time.Now()
	token := func(key *rsa.PrivateKey, header, changes map[string]any) string {
		h := map[string]any{"alg": "RS256", "kid": "1", "typ": "logout+jwt"}
		maps.Copy(h, header)
		c := map[string]any{"iss": s.Issuer, "aud": "detent", "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "jti": "j1", "sub": "ada", "sid": "s1", "events": map[string]any{logoutEvent: map[string]any{}}}
		maps.Copy(c, changes)
		for name, v := range c {
			if v == nil {
				delete(c, name)
			}
		}
		return s.Sign(key, h, c)
	}
	claims := func(changes map[string]any) string { return token(s.Key, nil, changes) }
	good := claims(nil)
	parts := strings.Split(good, ".")
	for name, c := range map[string]struct {
		token string
		fails string // "": accepted
	}{
		"good": {good, ""}, "several audiences": {claims(map[string]any{"aud": []string{"x", "detent"}}), ""}, "without sid": {claims(map[string]any{"sid": nil}), ""}, "without sub": {claims(map[string]any{"sub": nil}), ""},
		"without a type": {token(s.Key, map[string]any{"typ": nil}, nil), ""}, "without exp": {claims(map[string]any{"exp": nil}), ""}, "for another client of ours": {claims(map[string]any{"aud": "another"}), ""},
		"empty": {"", "expected a signed token"}, "garbage": {"a.b.c", "no JSON Web Token"}, "two parts": {"a.b", "expected a signed token"}, "long": {good + strings.Repeat("x", maxLogoutToken), "expected a signed token"},
		"another key": {token(stranger, nil, nil), "has not signed it"}, "a changed signature": {parts[0] + "." + parts[1] + "." + strings.Repeat("A", len(parts[2])), "has not signed it"}, "no signature": {parts[0] + "." + parts[1] + ".", "has not signed it"},
		"alg none": {token(s.Key, map[string]any{"alg": "none"}, nil), "has not signed it"}, "alg HS256": {token(s.Key, map[string]any{"alg": "HS256"}, nil), "has not signed it"},
		"another type": {token(s.Key, map[string]any{"typ": "at+jwt"}, nil), "is none for a sign-out"}, "a foreign issuer": {claims(map[string]any{"iss": other.Issuer}), "no identity provider"}, "no issuer": {claims(map[string]any{"iss": nil}), "no identity provider"},
		"an issuer of another kind": {claims(map[string]any{"iss": 5}), "no JSON Web Token"}, "another audience": {claims(map[string]any{"aud": "stranger"}), "has not signed it for this cluster"}, "no audience": {claims(map[string]any{"aud": nil}), "has not signed it"},
		"an ID token": {claims(map[string]any{"events": nil, "nonce": "n"}), "no sign-out"}, "a nonce": {claims(map[string]any{"nonce": "n"}), "has a nonce"}, "a nonce that is empty": {claims(map[string]any{"nonce": ""}), "has a nonce"},
		"other events": {claims(map[string]any{"events": map[string]any{"http://x": map[string]any{}}}), "no sign-out"}, "an event that is no object": {claims(map[string]any{"events": map[string]any{logoutEvent: true}}), "no sign-out"},
		"events as a list": {claims(map[string]any{"events": []string{logoutEvent}}), "events is of another type"}, "no jti": {claims(map[string]any{"jti": nil}), "jti"}, "a long jti": {claims(map[string]any{"jti": strings.Repeat("j", maxClaim+1)}), "jti"},
		"nobody": {claims(map[string]any{"sub": nil, "sid": nil}), "neither sub nor sid"}, "a long sid": {claims(map[string]any{"sid": strings.Repeat("s", maxClaim+1)}), "over the limit"}, "a number as sid": {claims(map[string]any{"sid": 5}), "another type"},
		"no iat": {claims(map[string]any{"iat": nil}), "iat"}, "old": {claims(map[string]any{"iat": now.Add(-logoutAge - time.Minute).Unix()}), "iat"}, "of the future": {claims(map[string]any{"iat": now.Add(5 * time.Minute).Unix()}), "iat"},
		"expired": {claims(map[string]any{"exp": now.Add(-5 * time.Minute).Unix()}), "expired"}, "iat as a text": {claims(map[string]any{"iat": "now"}), "has not signed it"},
	} {
		l, err := p.Logout(t.Context(), c.token, now)
		switch {
		case c.fails == "" && (err != nil || l.Issuer != s.Issuer || l.ID != "j1" || l.Subject == "" && l.SID == ""):
			t.Errorf("%s: %+v %v", name, l, err)
		case c.fails != "" && (err == nil || !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.fails)):
			t.Errorf("%s: %v, expected %q", name, err, c.fails)
		}
	}
}
