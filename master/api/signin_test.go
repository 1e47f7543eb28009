package api

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/nacl/box"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/accounts/login"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/oidc"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/identitytest"
)

// Where sign-ins of det auth login end: the first is Determined's, the second that of Detent's own det.
const (
	cliAddress = "http://localhost:49176/?token="
	cliSealed  = "http://localhost:49176/?sealed="
)

// A signInRig is a master whose users sign in with a provider.
type signInRig struct {
	*rig
	issuer string
}

func newSignInRig(t *testing.T, users map[string]map[string]any, change func(*oidc.Config), with ...func(testing.TB, ...func(*Config)) *rig) *signInRig {
	t.Helper()
	return newSignInRigOf(t, 0, users, change, with...)
}

// newSignInRigOf is newSignInRig with a provider whose access tokens are valid for a while.
func newSignInRigOf(t *testing.T, access time.Duration, users map[string]map[string]any, change func(*oidc.Config), with ...func(testing.TB, ...func(*Config)) *rig) *signInRig {
	t.Helper()
	s := &signInRig{}
	start := newRig
	if len(with) > 0 {
		start = with[0]
	}
	var cfg oidc.Config
	port, err := servers.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	// The provider must know the master's address before the master listens: forward later serves
	// the master at this port.
	public := fmt.Sprintf("http://127.0.0.1:%d", port)
	at, err := servers.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	s.issuer = identitytest.StartWith(t, at, []string{public + "/oidc/callback"}, identitytest.Options{SignOut: public + "/oidc/logout", Access: access}, users)
	cfg = oidc.Config{Name: "corp", Issuer: s.issuer, ClientID: "detent", ClientSecret: "the secret of the tests", Scopes: []string{"profile", "email", "groups"},
		UsernameClaim: "preferred_username", DisplayNameClaim: "name", CreateUsers: true, SessionLife: time.Hour}
	if change != nil {
		change(&cfg)
	}
	s.rig = start(t, func(c *Config) {
		c.PublicURL = public
		c.SignIn = oidc.New([]oidc.Config{cfg}, public+"/oidc/callback")
	})
	forward(t, port, s.url)
	return s
}

// forward serves the master at the port that the provider knows.
func forward(t *testing.T, port int, to string) {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				up, err := net.Dial("tcp", target.Host)
				if err != nil {
					return
				}
				defer up.Close()
				go func() { _, _ = io.Copy(up, c) }()
				_, _ = io.Copy(c, up)
			}()
		}
	}()
}

func staff() map[string]map[string]any {
	return map[string]map[string]any{
		"1": {"preferred_username": "Ada", "name": "Ada Lovelace", "groups": []string{"ml", "cluster-admins"}},
		"2": {"preferred_username": "admin", "name": "Mallory", "groups": []string{"ml"}},
		"3": {"preferred_username": "grace", "name": "Grace Hopper", "groups": []string{"ml"}},
		"4": {"name": "Nameless"},
		"5": {"preferred_username": "ada", "name": "Another Ada"},
	}
}

func TestSignInWithAProvider(t *testing.T) {
	s := newSignInRig(t, staff(), func(c *oidc.Config) { c.GroupsClaim, c.AdminGroups = "groups", []string{"cluster-admins"} })
	public := s.api.cfg.PublicURL
	if got := at(t, s.anyone().get("/info").ok().tree(), "sso_providers.0.sso_url"); got != public+"/oidc/sso" {
		t.Errorf("the provider is at %v", got)
	}
	ada := identitytest.NewBrowser(t)
	if code, body := ada.SignIn("1", "GET", public+"/oidc/sso?relayState=/experiments/7"); code != 200 || !strings.Contains(body, `url=/experiments/7"`) {
		t.Fatalf("%d %s", code, body)
	}
	if me := ada.Me(public); !strings.Contains(me, `"username":"ada"`) || !strings.Contains(me, `"Ada Lovelace"`) || !strings.Contains(me, `"admin":true`) || !strings.Contains(me, `"remote":true`) {
		t.Errorf("ada is %s", me)
	}

	t.Run("a username proves nothing", func(t *testing.T) {
		mallory := identitytest.NewBrowser(t)
		if code, body := mallory.SignIn("2", "GET", public+"/oidc/sso"); code != 403 || !strings.Contains(body, "has a password on this cluster") {
			t.Errorf("%d %s", code, body)
		}
		if me := mallory.Me(public); !strings.Contains(me, "not signed in") {
			t.Errorf("mallory is %s", me)
		}
		if code, body := identitytest.NewBrowser(t).SignIn("5", "GET", public+"/oidc/sso"); code != 403 || !strings.Contains(body, "belongs to another user") {
			t.Errorf("a second ada: %d %s", code, body)
		}
		if code, body := identitytest.NewBrowser(t).SignIn("4", "GET", public+"/oidc/sso"); code != 403 || !strings.Contains(body, "sent no username") {
			t.Errorf("a user without a username: %d %s", code, body)
		}
	})
	t.Run("foreign answers", func(t *testing.T) {
		for _, query := range []string{"", "?state=x&code=y", "?error=access_denied&error_description=no"} {
			if code, body, _ := identitytest.NewBrowser(t).Open("GET", public+"/oidc/callback"+query, nil); code != 401 || !strings.Contains(body, "did not begin in this browser") {
				t.Errorf("%q: %d %s", query, code, body)
			}
		}
		half := identitytest.NewBrowser(t)
		half.Open("GET", public+"/oidc/sso", nil) // the provider's page; the browser has the cookie now
		// Links of an attacker do not end the sign-in, and the page does not show their text.
		for _, query := range []string{"?state=guess&code=y", "?state=&code=y", "?error=x&error_description=call+555-0100", "?state=guess&error=x&error_description=call+555-0100"} {
			if code, body, _ := half.Open("GET", public+"/oidc/callback"+query, nil); code != 401 || !strings.Contains(body, "did not begin in this browser") || strings.Contains(body, "555") {
				t.Errorf("%s: %d %s", query, code, body)
			}
		}
		cookie, state := s.begun()
		back := func(cookie, query string) answer {
			return s.anyone().with("GET", "/oidc/callback?state="+state+query, nil, http.Header{"Cookie": {cookie}, "Accept": {"text/html"}})
		}
		if refused := back(cookie, "&error=access_denied&error_description=%3Cb%3Eno").is(401); !strings.Contains(refused.header.Get("Set-Cookie"), "1970") || !strings.Contains(string(refused.body), "access_denied &lt;b&gt;no") {
			t.Errorf("a sign-in that the provider rejected: %v %s", refused.header, refused.body)
		}
		// A page of a task sets a second cookie of that name, of a sign-in of its own.
		theirs, _ := s.begun()
		if refused := back(theirs+"; "+cookie, "&code=x").is(401); refused.header.Get("Set-Cookie") != "" || !strings.Contains(string(refused.body), "did not begin in this browser") {
			t.Errorf("two cookies: %v %s", refused.header, refused.body)
		}
	})
	t.Run("a sign-in leads to our pages only", func(t *testing.T) {
		for relay, want := range map[string]string{"//evil.example": "/experiments", "https://evil.example/": "/experiments", `/\evil.example`: "/experiments", "/tasks": "/tasks",
			"/det/../proxy/x/": "/experiments", "/%2E./proxy/x/": "/experiments", "/proxy/x/": "/proxy/x/?det-ask=", "/proxy/x/?a=1#b": "/proxy/x/?a=1&amp;det-ask=#b"} {
			if _, body := identitytest.NewBrowser(t).SignIn("3", "GET", public+"/oidc/sso?relayState="+url.QueryEscape(relay)); !strings.Contains(body, `url=`+want+`"`) {
				t.Errorf("%s leads to %s", relay, body)
			}
		}
	})
	t.Run("det", func(t *testing.T) {
		grace := identitytest.NewBrowser(t)
		if code, body, _ := grace.Open("GET", public+"/oidc/sso?relayState=cli", nil); code != 200 || !strings.Contains(body, "Continue only if") {
			t.Fatalf("%d %s", code, body)
		}
		if code, _ := grace.SignIn("3", "POST", public+"/oidc/sso?relayState=cli"); code != 303 || !strings.HasPrefix(grace.Last, cliAddress) {
			t.Fatalf("%d %s", code, grace.Last)
		}
		token, err := url.QueryUnescape(strings.TrimPrefix(grace.Last, cliAddress))
		if err != nil {
			t.Fatal(err)
		}
		key, secret, err := box.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if code, _ := grace.SignIn("3", "POST", public+"/oidc/sso?relayState=cli&cliKey="+base64.RawURLEncoding.EncodeToString(key[:])); code != 303 || strings.Contains(grace.Last, "token") {
			t.Errorf("%d %s", code, grace.Last)
		}
		sealed, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(grace.Last, cliSealed))
		if opened, ok := box.OpenAnonymous(nil, sealed, key, secret); err != nil || !ok || (as{r: s.rig, header: "Authorization", token: "Bearer " + string(opened)}).get("/api/v1/me").code != 200 {
			t.Errorf("what det opens: %q %v", opened, err)
		}
		for _, wrong := range []string{"", "AAAA", "!", strings.Repeat("A", 5000)} {
			s.anyone().get("/oidc/sso?cliKey="+url.QueryEscape(wrong)).says(400, "cliKey")
		}
		it := as{r: s.rig, header: "Authorization", token: "Bearer " + token}
		if at(t, it.get("/api/v1/me").ok().tree(), "user.username") != "grace" {
			t.Error("the token is somebody else's")
		}
		if me := grace.Me(public); !strings.Contains(me, "not signed in") {
			t.Errorf("the browser was signed in too: %s", me)
		}
		s.anyone().with("POST", "/oidc/sso", nil, http.Header{"Origin": {"https://evil.example"}, "Accept": {"text/html"}}).is(403)
		s.anyone().post("/oidc/sso", "").is(403)
	})
	t.Run("a device", func(t *testing.T) {
		d := s.anyone().post("/api/v1/detent/oidc/device", `{"provider":"CORP"}`).ok().tree()
		poll := func() map[string]any {
			return s.anyone().post("/api/v1/detent/oidc/device/token", fmt.Sprintf(`{"deviceCode":%q}`, at(t, d, "deviceCode"))).ok().tree()
		}
		if at(t, poll(), "pending") != true {
			t.Fatal("signed in already")
		}
		if code, body := identitytest.NewBrowser(t).SignIn("3", "GET", at(t, d, "completeUrl").(string)); code != 200 {
			t.Fatalf("%d %s", code, body)
		}
		if got := at(t, poll(), "user.username"); got != "grace" {
			t.Errorf("the device signed in as %v, want grace", got)
		}
		s.anyone().post("/api/v1/detent/oidc/device/token", `{"deviceCode":"guess"}`).is(401)
	})
	t.Run("the audit trail", func(t *testing.T) {
		admin := s.user("admin")
		if n := len(trailOf(t, admin, "kind=session&verb=login&username=ada")); n != 2 {
			t.Errorf("the audit trail has %d sign-ins of ada, want 2: one that succeeded and one that was rejected", n)
		}
		if list := trailOf(t, admin, "kind=session&failed=true&username=admin"); len(list) != 1 || !strings.Contains(list[0].Error, "has a password") {
			t.Errorf("%+v", list)
		}
	})
}

// begun begins a sign-in in a browser, and returns its cookie and its state.
func (s *signInRig) begun() (cookie, state string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+"/oidc/sso", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = resp.Body.Close()
	to, err := resp.Location()
	if err != nil || len(resp.Cookies()) != 1 {
		s.t.Fatal(err, resp.Header)
	}
	return resp.Cookies()[0].Name + "=" + resp.Cookies()[0].Value, to.Query().Get("state")
}

// TestAddressesThatNobodyVerified: with username_claim email, the provider must state that it has
// verified the address.
func TestAddressesThatNobodyVerified(t *testing.T) {
	s := newSignInRig(t, map[string]map[string]any{"1": {"email": "a@example.com", "email_verified": true}, "2": {"email": "b@example.com", "email_verified": false},
		"3": {"email": "c@example.com"}}, func(c *oidc.Config) { c.UsernameClaim = "email" })
	for name, want := range map[string]string{"1": "You are signed in as a@example.com", "2": "has not verified the address b@example.com", "3": "does not say whether it has verified"} {
		if _, body := identitytest.NewBrowser(t).SignIn(name, "GET", s.api.cfg.PublicURL+"/oidc/sso"); !strings.Contains(body, want) {
			t.Errorf("user %s: %s", name, body)
		}
	}
}

// TestAProviderDecidesWhoIsAdmin: an admin who leaves the group is no admin at the next sign-in.
func TestAProviderDecidesWhoIsAdmin(t *testing.T) {
	users := staff()
	s := newSignInRig(t, users, func(c *oidc.Config) { c.GroupsClaim, c.AdminGroups = "groups", []string{"ml"} })
	if me := func() string {
		p := identitytest.NewBrowser(t)
		p.SignIn("3", "GET", s.api.cfg.PublicURL+"/oidc/sso")
		return p.Me(s.api.cfg.PublicURL)
	}(); !strings.Contains(me, `"admin":true`) {
		t.Fatalf("grace is %s", me)
	}
	*s.api.cfg.SignIn = *oidc.New([]oidc.Config{{Name: "corp", Issuer: s.issuer, ClientID: "detent", ClientSecret: "the secret of the tests", Scopes: []string{"profile", "groups"},
		UsernameClaim: "preferred_username", GroupsClaim: "groups", AdminGroups: []string{"others"}, SessionLife: time.Hour}}, s.api.cfg.PublicURL+"/oidc/callback")
	p := identitytest.NewBrowser(t)
	p.SignIn("3", "GET", s.api.cfg.PublicURL+"/oidc/sso")
	if me := p.Me(s.api.cfg.PublicURL); !strings.Contains(me, `"username":"grace"`) || strings.Contains(me, `"admin":true`) {
		t.Errorf("grace is %s", me)
	}
	if code, body := identitytest.NewBrowser(t).SignIn("1", "GET", s.api.cfg.PublicURL+"/oidc/sso"); code != 403 || !strings.Contains(body, "det user create ada --remote") {
		t.Errorf("an unknown user: %d %s", code, body)
	}
	admin := s.user("admin")
	admin.post("/api/v1/users", `{"user":{"username":"ada","active":true,"remote":true}}`).ok()
	ada := identitytest.NewBrowser(t)
	if code, body := ada.SignIn("1", "GET", s.api.cfg.PublicURL+"/oidc/sso"); code != 200 {
		t.Errorf("a known user: %d %s", code, body)
	}
}

// TestAProviderThatIsAway: the master starts and serves while the provider is unreachable.
func TestAProviderThatIsAway(t *testing.T) {
	r := newRig(t, func(c *Config) {
		c.SignIn = oidc.New([]oidc.Config{{Name: "corp", Issuer: "http://127.0.0.1:1", ClientID: "d", UsernameClaim: "email"}}, "http://127.0.0.1/oidc/callback")
	})
	r.anyone().get("/oidc/sso").says(503, "identity provider corp")
	r.anyone().get("/oidc/sso/other").says(404, "no identity provider")
	r.anyone().post("/api/v1/detent/oidc/device", `{}`).says(503, "identity provider corp")
	newRig(t).anyone().get("/oidc/sso").is(404) // a master without a provider
}

// TestAUserOfNoProvider: with --remote false a user's identities at providers open nothing any more, also those that are left.
func TestAUserOfNoProvider(t *testing.T) {
	r := newRig(t)
	admin, ada := r.user("admin"), login.Identity{Issuer: "https://id", Subject: "1", Username: "ada", Create: true}
	u, err := login.SignIn(t.Context(), r.db, r.api.cfg.Roles, ada)
	if err != nil {
		t.Fatal(err)
	}
	at := accounts.Place{Issuer: "https://id", Provider: "id"}
	_, here := auth.NewToken()
	_, there := auth.NewToken()
	for _, s := range []struct {
		token []byte
		at    accounts.Place
	}{{here, accounts.Place{}}, {there, at}} {
		if _, err := accounts.NewSession(t.Context(), r.db, u, s.token, time.Hour, s.at); err != nil {
			t.Fatal(err)
		}
	}
	path := fmt.Sprintf("/api/v1/users/%d", u.ID)
	admin.patch(path, `{"remote":false}`).ok()
	if got := r.text(`SELECT count(*)::text FROM sessions WHERE user_id = $1 AND NOT is_token`, u.ID); got != "0" {
		t.Errorf("%s sessions are left", got)
	}
	refused := func(what string) {
		t.Helper()
		if _, err := login.SignIn(t.Context(), r.db, r.api.cfg.Roles, ada); !fault.Is(err, fault.Forbidden) || !strings.Contains(err.Error(), "--remote true") {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("after the change")
	admin.patch(path, `{"remote":true}`).ok()
	if again, err := login.SignIn(t.Context(), r.db, r.api.cfg.Roles, ada); err != nil || again.ID != u.ID {
		t.Errorf("%v %v", again.ID, err)
	}
	r.exec(`UPDATE users SET remote = false WHERE id = $1`, u.ID)
	refused("with an identity that is left")
}

// TestProvidersDiffer: each provider has its length of a session, and says whether the sign-in page leads there at once.
func TestProvidersDiffer(t *testing.T) {
	s := newSignInRig(t, staff(), nil)
	public := s.api.cfg.PublicURL
	first := s.api.cfg.SignIn.List()[0]
	second := first
	second.Name, second.SessionLife, second.AlwaysRedirect = "staff", 90*time.Minute, true
	*s.api.cfg.SignIn = *oidc.New([]oidc.Config{first, second}, public+"/oidc/callback")
	info, master := s.anyone().get("/info").ok().tree(), s.anyone().get("/api/v1/master").ok().tree()
	for i, c := range []struct {
		name, begin string
		redirects   bool
		lasts       time.Duration
	}{{"corp", "/oidc/sso", false, time.Hour}, {"staff", "/oidc/sso/staff", true, 90 * time.Minute}} {
		for _, says := range []any{at(t, info, fmt.Sprintf("sso_providers.%d.always_redirect", i)), at(t, master, fmt.Sprintf("ssoProviders.%d.alwaysRedirect", i))} {
			if says != c.redirects {
				t.Errorf("%s redirects: %v, want %v", c.name, says, c.redirects)
			}
		}
		if code, body := identitytest.NewBrowser(t).SignIn("1", "GET", public+c.begin); code != 200 {
			t.Fatalf("%s: %d %s", c.name, code, body)
		}
		if got := s.text(`SELECT (expires_at - created_at)::text FROM sessions WHERE issuer IS NOT NULL ORDER BY id DESC LIMIT 1`); got != fmt.Sprintf("%02d:%02d:00", int(c.lasts.Hours()), int(c.lasts.Minutes())%60) {
			t.Errorf("a session of %s lasts %s, want %s", c.name, got, c.lasts)
		}
	}
}
