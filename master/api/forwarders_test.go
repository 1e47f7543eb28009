package api

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/accounts"
)

// TestSharedAddress: after too many wrong passwords from an address, other users of the address can
// still sign in with their right passwords, repeatedly; another wrong password locks its username.
func TestSharedAddress(t *testing.T) {
	r := newRig(t)
	r.user("admin").patch("/api/v1/users/1", `{"password":"right","isHashed":true}`).ok()
	const ofAddress = "address 127.0.0.1"
	if err := r.db.Exec(t.Context(), `INSERT INTO login_tries (key, tries) VALUES ($1, $2)`, ofAddress, accounts.MaxTriesPerAddress+40); err != nil {
		t.Fatal(err)
	}
	signIn := func(name, password string) answer {
		return r.anyone().post("/api/v1/auth/login", fmt.Sprintf(`{"username":%q,"password":%q,"isHashed":true}`, name, password))
	}
	for range 3 {
		signIn("admin", "right").ok()
	}
	for _, name := range []string{"admin", "nobody", "determined"} {
		signIn(name, "wrong").is(401)
		signIn(name, "right").says(429, "from your address")
	}
	var tries int
	if err := r.db.QueryRow(t.Context(), `SELECT tries FROM login_tries WHERE key = $1`, ofAddress).Scan(&tries); err != nil || tries != accounts.MaxTriesPerAddress+40+6 {
		t.Errorf("%d tries are counted for the address: %v; right passwords do not count", tries, err)
	}
}

// TestAProxyThatNobodyNamed is warned about once, with its address and the key to set.
func TestAProxyThatNobodyNamed(t *testing.T) {
	for _, c := range []struct {
		trusted []netip.Prefix
		header  http.Header
		warned  int
	}{
		{nil, http.Header{"X-Forwarded-For": {"203.0.113.5"}}, 1},
		{nil, http.Header{"Forwarded": {"for=203.0.113.5"}}, 1},
		{nil, nil, 0},
		{[]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, http.Header{"X-Forwarded-For": {"203.0.113.5"}}, 0},
	} {
		r := newRig(t, func(cfg *Config) { cfg.TrustedProxies = c.trusted })
		for range 3 {
			r.anyone().with("POST", "/api/v1/auth/login", strings.NewReader(`{"username":"admin","password":"wrong"}`), c.header).is(401)
		}
		if got := strings.Count(r.log.String(), "trusted_proxies in the master's configuration\" address=127.0.0.1"); got != c.warned {
			t.Errorf("%v, trusted %v: the warning was logged %d times, want %d: %s", c.header, c.trusted, got, c.warned, r.log)
		}
		if got := string(r.anyone().get("/metrics").ok().body); !strings.Contains(got, fmt.Sprintf("det_untrusted_forwarders %d\n", c.warned)) {
			t.Errorf("%v, trusted %v: the metrics say otherwise", c.header, c.trusted)
		}
	}
}
