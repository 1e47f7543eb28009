package cluster

import (
	"crypto/rand"
	"crypto/rsa"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/fault"
)

// TestIdentitiesOfRegions: the region of an identity decides which Nomad verifies it, and a Nomad accepts none of
// another region, even with its own key.
func TestIdentitiesOfRegions(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: "k"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	token := func(region string) string {
		text, err := jwt.Signed(signer).Claims(jwt.Claims{Audience: jwt.Audience{jobspecs.Audience}, Expiry: jwt.NewNumericDate(now.Add(time.Hour)),
			Subject: region + ":default:det-1:rank-0:main:" + jobspecs.IdentityName}).
			Claims(map[string]any{"nomad_namespace": "default", "nomad_job_id": "det-1", "nomad_task": "main"}).Serialize()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	c := &Cluster{cfg: Config{Region: "west"}, now: time.Now}
	c.keys.set = jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &key.PublicKey, KeyID: "k"}}}
	c.keys.fetched, c.keys.asked = now, now
	for region, accepted := range map[string]bool{"west": true, "east": false, "": false} {
		if got := RegionOf(token(region)); got != region {
			t.Errorf("the region of an identity of %q is %q", region, got)
		}
		_, _, err := c.verify(t.Context(), token(region), jobspecs.Audience)
		if accepted != (err == nil) || !accepted && (!fault.Is(err, fault.Unauthenticated) || !strings.Contains(err.Error(), "Nomad region")) {
			t.Errorf("%q: %v", region, err)
		}
	}
	for _, text := range []string{"", "x", "a.b.c", strings.Repeat("x", maxJWT+1)} {
		if got := RegionOf(text); got != "" {
			t.Errorf("the region of %.10q is %q", text, got)
		}
	}
}
