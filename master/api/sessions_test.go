package api

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/accounts/login"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/oidc"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/servers/identitytest"
)

// sessionsOf lists sessions.
func sessionsOf(t *testing.T, who as, query string) []v1.Session {
	t.Helper()
	var got v1.GetSessionsResponse
	if err := v1.Unmarshal(who.get("/api/v1/detent/sessions"+query).ok().body, &got); err != nil {
		t.Fatal(err)
	}
	return got.Sessions
}

func TestSessionsOfAUser(t *testing.T) {
	r := newRig(t)
	admin := r.user("admin")
	admin.post("/api/v1/users", `{"user":{"username":"ada","active":true},"password":"a long password"}`).ok()
	signIn := func(agent string) as {
		t.Helper()
		got := r.anyone().with("POST", "/api/v1/auth/login", strings.NewReader(`{"username":"ada","password":"a long password"}`), http.Header{"User-Agent": {agent}}).ok().tree()
		return as{r: r, header: "Authorization", token: "Bearer " + at(t, got, "token").(string)}
	}
	lost, here := signIn("an old notebook"), signIn("det/1.0 "+strings.Repeat("x", 500))
	here.post("/api/v1/tokens", `{}`).ok()
	list := sessionsOf(t, here, "")
	if len(list) != 2 || !list[0].Current || list[1].Current || list[1].Agent != "an old notebook" || list[1].Address != "127.0.0.1" || list[1].LastUsedAt == nil || list[1].Provider != "" || len(list[0].Agent) > 200 {
		t.Fatalf("%+v", list)
	}
	path := fmt.Sprintf("/api/v1/detent/sessions/%d", list[1].ID)
	t.Run("others", func(t *testing.T) {
		bob := r.user("determined")
		if other := sessionsOf(t, bob, ""); len(other) != 1 || other[0].Username != "determined" {
			t.Errorf("%+v", other)
		}
		bob.get("/api/v1/detent/sessions?username=ada").says(403, "only an admin")
		bob.get("/api/v1/detent/sessions?all=true").says(403, "only an admin")
		bob.do("DELETE", path, "").says(404, "not found")
		r.anyone().do("DELETE", path, "").is(401)
		here.do("DELETE", "/api/v1/detent/sessions/99999", "").is(404)
		var token int
		if err := r.db.QueryRow(t.Context(), `SELECT id FROM sessions WHERE is_token`).Scan(&token); err != nil {
			t.Fatal(err)
		}
		here.do("DELETE", fmt.Sprintf("/api/v1/detent/sessions/%d", token), "").is(404) // det token revoke is for those
		lost.get("/api/v1/me").ok()
	})
	here.do("DELETE", path, "").ok()
	lost.get("/api/v1/me").is(401)
	here.get("/api/v1/me").ok()
	if n := len(sessionsOf(t, admin, "?username=ADA")); n != 1 {
		t.Errorf("the admin sees %d sessions of ada", n)
	}
	if n := len(sessionsOf(t, admin, "?all=true&limit=2")); n != 2 {
		t.Errorf("a page of two has %d", n)
	}
	admin.do("DELETE", fmt.Sprintf("/api/v1/detent/sessions/%d", list[0].ID), "").ok()
	here.get("/api/v1/me").is(401)
	if e := trailOf(t, admin, "kind=session&verb=change"); len(e) < 2 || e[0].Object != fmt.Sprint(list[1].ID) {
		t.Errorf("%+v", e)
	}
}

// TestSignOutAtTheProvider: the provider ends the sessions that its session has begun, and no other.
func TestSignOutAtTheProvider(t *testing.T) {
	s := newSignInRig(t, staff(), nil)
	public := s.api.cfg.PublicURL
	first, second, grace := identitytest.NewBrowser(t), identitytest.NewBrowser(t), identitytest.NewBrowser(t)
	for p, name := range map[*identitytest.Browser]string{first: "1", second: "1", grace: "3"} {
		if code, body := p.SignIn(name, "GET", public+"/oidc/sso"); code != 200 {
			t.Fatalf("%d %s", code, body)
		}
	}
	if list := sessionsOf(t, s.user("admin"), "?username=ada"); len(list) != 2 || list[0].Provider != "corp" {
		t.Fatalf("%+v", list)
	}
	first.SignOut(s.issuer)
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(first.Me(public), "has ended"); {
		if time.Now().After(deadline) {
			t.Fatalf("she is still signed in: %s", first.Me(public))
		}
	}
	if me := second.Me(public); !strings.Contains(me, `"username":"ada"`) {
		t.Errorf("another session of the same person: %s", me)
	}
	if me := grace.Me(public); !strings.Contains(me, `"username":"grace"`) {
		t.Errorf("another person: %s", me)
	}
	if list := trailOf(t, s.user("admin"), "verb=logout&username=ada"); len(list) != 1 || *list[0].Status != 200 {
		t.Errorf("the trail: %+v", list)
	}
}

// TestSignOutTokens: a sign-out is carried out once, ends only what its provider began, and
// anybody's attempts are counted.
func TestSignOutTokens(t *testing.T) {
	signer := identitytest.NewSigner(t)
	r := newRig(t, func(c *Config) {
		c.SignIn = oidc.New([]oidc.Config{{Name: "corp", Issuer: signer.Issuer, ClientID: "detent", UsernameClaim: "email"}}, "http://127.0.0.1/oidc/callback")
	})
	u, err := login.SignIn(t.Context(), r.db, r.api.cfg.Roles, login.Identity{Issuer: signer.Issuer, Subject: "ada", Username: "ada", Create: true})
	if err != nil {
		t.Fatal(err)
	}
	begin := func(at accounts.Place) as {
		t.Helper()
		token, hash := auth.NewToken()
		if _, err := accounts.NewSession(t.Context(), r.db, u, hash, time.Hour, at); err != nil {
			t.Fatal(err)
		}
		return as{r: r, header: "Authorization", token: "Bearer " + token}
	}
	ofProvider, another, elsewhere, password := begin(accounts.Place{Issuer: signer.Issuer, SID: "s1"}), begin(accounts.Place{Issuer: signer.Issuer, SID: "s2"}), begin(accounts.Place{Issuer: "https://other", SID: "s1"}), begin(accounts.Place{})
	token := func(jti string, claims map[string]any) string {
		all := map[string]any{"iss": signer.Issuer, "aud": "detent", "iat": time.Now().Unix(), "jti": jti, "events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}}}
		for name, v := range claims {
			all[name] = v
		}
		return signer.Sign(signer.Key, map[string]any{"alg": "RS256", "kid": "1"}, all)
	}
	send := func(form url.Values) answer {
		return r.anyone().with("POST", "/oidc/logout", strings.NewReader(form.Encode()), http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
	}
	once := url.Values{"logout_token": {token("1", map[string]any{"sid": "s1"})}}
	if got := send(once).ok(); got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%v", got.header)
	}
	ofProvider.get("/api/v1/me").is(401)
	for _, it := range []as{another, elsewhere, password} {
		it.get("/api/v1/me").ok()
	}
	send(once).says(400, "was sent before")
	send(url.Values{"logout_token": {token("2", map[string]any{"sid": "s2", "sub": "mallory"})}}).ok() // s2 is not mallory's
	another.get("/api/v1/me").ok()
	send(url.Values{"logout_token": {token("3", map[string]any{"sub": "ada"})}}).ok()
	another.get("/api/v1/me").is(401)
	for _, it := range []as{elsewhere, password} {
		it.get("/api/v1/me").ok()
	}
	for _, form := range []url.Values{nil, {"logout_token": {"a.b.c"}}, {"logout_token": {"x", "y"}}, {"token": {"x"}}} {
		send(form).says(400, "logout_token")
	}
	send(url.Values{"logout_token": {strings.Repeat("x", 9<<10)}}).is(413)
	newRig(t).anyone().post("/oidc/logout", "logout_token=a.b.c").says(404, "no identity provider")
}
