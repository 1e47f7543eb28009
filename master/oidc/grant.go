package oidc

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"time"

	"golang.org/x/oauth2"

	"github.com/detent-ml/detent/master/fault"
)

const (
	maxSealed = 64 << 10 // bytes of the tokens of a sign-in
	// A session that cannot be checked any more lasts for at most maxUnchecked after its sign-in or, if the
	// provider does not say how long its access token is valid, for unknownLife.
	maxUnchecked = time.Hour
	unknownLife  = 10 * time.Minute
	// tokenMargin is how long before its end an access token counts as expired.
	tokenMargin = 10 * time.Second
)

// A Grant is what a provider gave the master at a sign-in to ask about the user later.
type Grant struct {
	Issuer  string    `json:"issuer"`
	Subject string    `json:"subject"`
	Refresh string    `json:"refresh,omitempty"`
	Access  string    `json:"access,omitempty"`
	Expires time.Time `json:"expires,omitzero"` // of Access
	// InIDToken: the sign-in found the groups in the ID token, so that an answer without an ID token may
	// say nothing about them.
	InIDToken bool `json:"inIDToken,omitempty"`
	// Short: the provider issues refresh tokens on request, and this user has none. The request goes through the
	// user's browser, so a user could remove it to avoid later checks.
	Short bool `json:"short,omitempty"`
}

// Life is how long the session of a sign-in may last, of life at most.
func (g Grant) Life(life time.Duration, now time.Time) time.Duration {
	switch {
	case !g.Short:
		return life
	case g.Expires.IsZero():
		return min(life, unknownLife)
	}
	return min(life, maxUnchecked, max(g.Expires.Sub(now), tokenMargin))
}

func grantOf(issuer, subject string, token *oauth2.Token, inIDToken bool) Grant {
	return Grant{Issuer: issuer, Subject: subject, Refresh: token.RefreshToken, Access: token.AccessToken, Expires: token.Expiry, InIDToken: inIDToken}
}

// usable reports whether the access token is valid at a time, as far as the provider said. A token
// without an end would be tried for ever, so it is not used.
func (g Grant) usable(now time.Time) bool {
	return g.Access != "" && !g.Expires.IsZero() && now.Before(g.Expires.Add(-tokenMargin))
}

// Seal encrypts a grant for the database, with a key of the client's secret, which every master has
// and the database has not. It belongs to one session, of which id is the hash.
func (p *Providers) Seal(provider string, g Grant, id []byte) ([]byte, error) {
	one, err := p.named(provider)
	if err != nil {
		return nil, err
	}
	plain, err := json.Marshal(g)
	if err != nil {
		return nil, err
	}
	sealer, err := one.sealer()
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, sealer.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	sealed := sealer.Seal(nonce, nonce, plain, id)
	if len(sealed) > maxSealed {
		return nil, fault.New(fault.Invalid, "the tokens of the identity provider %s have %d bytes together; %d are allowed", one.Name, len(plain), maxSealed)
	}
	return sealed, nil
}

// Open decrypts a grant of a session.
func (p *Providers) Open(provider string, sealed, id []byte) (g Grant, err error) {
	one, err := p.named(provider)
	if err != nil {
		return g, err
	}
	sealer, err := one.sealer()
	if err != nil {
		return g, err
	}
	bad := fault.New(fault.Invalid, "the tokens of a session cannot be decrypted: the client secret of the identity provider %s has changed since the sign-in", one.Name)
	if len(sealed) < sealer.NonceSize() {
		return g, bad
	}
	plain, err := sealer.Open(nil, sealed[:sealer.NonceSize()], sealed[sealer.NonceSize():], id)
	if err != nil || json.Unmarshal(plain, &g) != nil {
		return g, bad
	}
	return g, nil
}

func (p *provider) sealer() (cipher.AEAD, error) {
	if p.ClientSecret == "" {
		return nil, fault.New(fault.Invalid, "the identity provider %s has no client secret, with which tokens could be encrypted", p.Name)
	}
	key, err := hkdf.Key(sha256.New, []byte(p.ClientSecret), nil, "tokens of sessions, "+p.Issuer+" "+p.ClientID, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
