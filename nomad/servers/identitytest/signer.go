package identitytest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"
)

// A Signer has the keys of a provider of OpenID Connect, and signs what a test wants: also what no
// provider would sign.
type Signer struct {
	Issuer string
	Key    *rsa.PrivateKey
	t      testing.TB
	mux    *http.ServeMux
}

// NewSigner serves the description and the keys of a provider.
func NewSigner(t testing.TB) *Signer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	s := &Signer{Key: key, t: t, mux: mux}
	answer := func(path string, body func() any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(body())
		})
	}
	answer("/.well-known/openid-configuration", func() any {
		return map[string]any{"issuer": s.Issuer, "authorization_endpoint": s.Issuer + "/auth", "token_endpoint": s.Issuer + "/token", "jwks_uri": s.Issuer + "/keys",
			"userinfo_endpoint": s.Issuer + "/userinfo", "scopes_supported": []string{"openid", "offline_access"},
			"id_token_signing_alg_values_supported": []string{"RS256"}}
	})
	answer("/keys", func() any {
		e := big.NewInt(int64(key.E)).Bytes()
		return map[string]any{"keys": []any{map[string]any{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "1", "n": text(key.N.Bytes()), "e": text(e)}}}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.Issuer = server.URL
	return s
}

// Handle answers requests of a path of the provider, such as /token and /userinfo.
func (s *Signer) Handle(path string, answer http.HandlerFunc) { s.mux.HandleFunc(path, answer) }

func text(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// Sign makes a token, with a key that may be another one than the provider's.
func (s *Signer) Sign(key *rsa.PrivateKey, header, claims map[string]any) string {
	s.t.Helper()
	var parts [2]string
	for i, part := range []map[string]any{header, claims} {
		b, err := json.Marshal(part)
		if err != nil {
			s.t.Fatal(err)
		}
		parts[i] = text(b)
	}
	signed := parts[0] + "." + parts[1]
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		s.t.Fatal(err)
	}
	return signed + "." + text(signature)
}
