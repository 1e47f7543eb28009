package api

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/signin"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/nodeprog"
)

// identityProvider starts a real provider of OpenID Connect, which knows some users by name.
func identityProvider(t *testing.T, callbacks []string, users map[string]map[string]any) (issuer string) {
	t.Helper()
	script, there, err := nodeprog.OIDCProvider.Find()
	if err != nil {
		t.Fatal(err)
	}
	if !there {
		t.Skip("oidc-provider is not installed, or Node is missing; run just emulators")
	}
	port := freePort(t)
	cmd := exec.CommandContext(t.Context(), "node", script)
	known, err := json.Marshal(users)
	if err != nil {
		t.Fatal(err)
	}
	back, err := json.Marshal(callbacks)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "IDENTITY_PORT="+strconv.Itoa(port), "IDENTITY_USERS="+string(known), "IDENTITY_CALLBACKS="+string(back))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "http://") {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return lines.Text()
		}
	}
	t.Fatal("the provider ended")
	return ""
}

func freePort(t *testing.T) int {
	t.Helper()
	n, err := servers.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A signInRig is a master whose users sign in with a provider.
type signInRig struct {
	*rig
	issuer string
}

func newSignInRig(t *testing.T, users map[string]map[string]any, change func(*signin.Config)) *signInRig {
	t.Helper()
	s := &signInRig{}
	var cfg signin.Config
	port := freePort(t)
	// The master's address is known only when it listens: the provider comes behind a proxy.
	public := fmt.Sprintf("http://127.0.0.1:%d", port)
	s.issuer = identityProvider(t, []string{public + "/oidc/callback"}, users)
	cfg = signin.Config{Name: "corp", Issuer: s.issuer, ClientID: "detent", ClientSecret: "the secret of the tests", Scopes: []string{"profile", "email", "groups"},
		UsernameClaim: "preferred_username", DisplayNameClaim: "name", CreateUsers: true, SessionLife: time.Hour}
	if change != nil {
		change(&cfg)
	}
	s.rig = newRig(t, func(c *Config) {
		c.PublicURL = public
		c.SignIn = signin.New([]signin.Config{cfg}, public+"/oidc/callback")
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

// A person has a browser with cookies.
type person struct {
	t      *testing.T
	client *http.Client
	last   string // where a redirect led that the browser could not follow
}

func newPerson(t *testing.T) *person {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &person{t: t}
	p.client = &http.Client{Jar: jar, Timeout: 20 * time.Second, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), cliAddress) {
			p.last = r.URL.String()
			return http.ErrUseLastResponse
		}
		return nil
	}}
	return p
}

func (p *person) open(method, address string, form url.Values) (int, string, *url.URL) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/html")
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", req.URL.Scheme+"://"+req.URL.Host)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, string(body), resp.Request.URL
}

var formAction = regexp.MustCompile(`action="([^"]+)"`)

// signIn fills in the provider's forms from a page of the master, and returns the last page.
func (p *person) signIn(name, method, begin string) (int, string) {
	p.t.Helper()
	code, body, at := p.open(method, begin, nil)
	for range 4 {
		m := formAction.FindStringSubmatch(body)
		if m == nil {
			break
		}
		next, err := at.Parse(m[1])
		if err != nil {
			p.t.Fatal(err)
		}
		form := url.Values{}
		for _, input := range regexp.MustCompile(`name="([^"]+)" value="([^"]*)"`).FindAllStringSubmatch(body, -1) {
			form.Set(input[1], input[2])
		}
		if strings.Contains(body, `name="login"`) {
			form.Set("login", name)
			form.Set("password", "any")
		}
		code, body, at = p.open(http.MethodPost, next.String(), form)
	}
	return code, body
}

func (p *person) me(public string) string {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, public+"/api/v1/me", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(body)
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
	s := newSignInRig(t, staff(), func(c *signin.Config) { c.GroupsClaim, c.AdminGroups = "groups", []string{"cluster-admins"} })
	public := s.api.cfg.PublicURL
	if got := at(t, s.anyone().get("/info").ok().tree(), "sso_providers.0.sso_url"); got != public+"/oidc/sso" {
		t.Errorf("the provider is at %v", got)
	}
	ada := newPerson(t)
	if code, body := ada.signIn("1", "GET", public+"/oidc/sso?relayState=/experiments/7"); code != 200 || !strings.Contains(body, `url=/experiments/7"`) {
		t.Fatalf("%d %s", code, body)
	}
	if me := ada.me(public); !strings.Contains(me, `"username":"ada"`) || !strings.Contains(me, `"Ada Lovelace"`) || !strings.Contains(me, `"admin":true`) || !strings.Contains(me, `"remote":true`) {
		t.Errorf("ada is %s", me)
	}

	t.Run("names are no proof", func(t *testing.T) {
		mallory := newPerson(t)
		if code, body := mallory.signIn("2", "GET", public+"/oidc/sso"); code != 403 || !strings.Contains(body, "has a password on this cluster") {
			t.Errorf("%d %s", code, body)
		}
		if me := mallory.me(public); !strings.Contains(me, "not signed in") {
			t.Errorf("mallory is %s", me)
		}
		if code, body := newPerson(t).signIn("5", "GET", public+"/oidc/sso"); code != 403 || !strings.Contains(body, "belongs to another user") {
			t.Errorf("a second ada: %d %s", code, body)
		}
		if code, body := newPerson(t).signIn("4", "GET", public+"/oidc/sso"); code != 403 || !strings.Contains(body, "sent no username") {
			t.Errorf("nobody: %d %s", code, body)
		}
	})
	t.Run("foreign answers", func(t *testing.T) {
		for _, query := range []string{"", "?state=x&code=y", "?error=access_denied&error_description=no"} {
			if code, body, _ := newPerson(t).open("GET", public+"/oidc/callback"+query, nil); code != 401 || !strings.Contains(body, "did not begin in this browser") {
				t.Errorf("%q: %d %s", query, code, body)
			}
		}
		half := newPerson(t)
		half.open("GET", public+"/oidc/sso", nil) // the provider's page; the browser has the cookie now
		if code, body, _ := half.open("GET", public+"/oidc/callback?state=guess&code=y", nil); code != 401 || !strings.Contains(body, "did not begin in this browser") {
			t.Errorf("%d %s", code, body)
		}
		half.open("GET", public+"/oidc/sso", nil)
		if code, body, _ := half.open("GET", public+"/oidc/callback?error=access_denied&error_description=%3Cb%3Eno", nil); code != 401 || !strings.Contains(body, "access_denied &lt;b&gt;no") {
			t.Errorf("%d %s", code, body)
		}
	})
	t.Run("a sign-in leads to our pages only", func(t *testing.T) {
		for relay, want := range map[string]string{"//evil.example": "/experiments", "https://evil.example/": "/experiments", `/\evil.example`: "/experiments", "/tasks": "/tasks"} {
			if _, body := newPerson(t).signIn("3", "GET", public+"/oidc/sso?relayState="+url.QueryEscape(relay)); !strings.Contains(body, `url=`+want+`"`) {
				t.Errorf("%s leads to %s", relay, body)
			}
		}
	})
	t.Run("det", func(t *testing.T) {
		grace := newPerson(t)
		if code, body, _ := grace.open("GET", public+"/oidc/sso?relayState=cli", nil); code != 200 || !strings.Contains(body, "Continue only if") {
			t.Fatalf("%d %s", code, body)
		}
		if code, _ := grace.signIn("3", "POST", public+"/oidc/sso?relayState=cli"); code != 303 || !strings.HasPrefix(grace.last, cliAddress) {
			t.Fatalf("%d %s", code, grace.last)
		}
		token, err := url.QueryUnescape(strings.TrimPrefix(grace.last, cliAddress))
		if err != nil {
			t.Fatal(err)
		}
		it := as{r: s.rig, header: "Authorization", token: "Bearer " + token}
		if at(t, it.get("/api/v1/me").ok().tree(), "user.username") != "grace" {
			t.Error("the token is somebody else's")
		}
		if me := grace.me(public); !strings.Contains(me, "not signed in") {
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
		if code, body := newPerson(t).signIn("3", "GET", at(t, d, "completeUrl").(string)); code != 200 {
			t.Fatalf("%d %s", code, body)
		}
		if got := at(t, poll(), "user.username"); got != "grace" {
			t.Errorf("it is %v", got)
		}
		s.anyone().post("/api/v1/detent/oidc/device/token", `{"deviceCode":"guess"}`).is(401)
	})
	t.Run("the trail", func(t *testing.T) {
		admin := s.user("admin")
		if n := len(trailOf(t, admin, "kind=session&verb=login&username=ada")); n != 2 {
			t.Errorf("%d sign-ins of ada are in the trail, expected one and one that was rejected", n)
		}
		if list := trailOf(t, admin, "kind=session&failed=true&username=admin"); len(list) != 1 || !strings.Contains(list[0].Error, "has a password") {
			t.Errorf("%+v", list)
		}
	})
}

// TestAProviderDecidesWhoIsAdmin: an admin who leaves the group is no admin at the next sign-in.
func TestAProviderDecidesWhoIsAdmin(t *testing.T) {
	users := staff()
	s := newSignInRig(t, users, func(c *signin.Config) { c.GroupsClaim, c.AdminGroups = "groups", []string{"ml"} })
	if me := func() string {
		p := newPerson(t)
		p.signIn("3", "GET", s.api.cfg.PublicURL+"/oidc/sso")
		return p.me(s.api.cfg.PublicURL)
	}(); !strings.Contains(me, `"admin":true`) {
		t.Fatalf("grace is %s", me)
	}
	s.api.cfg.SignIn = signin.New([]signin.Config{{Name: "corp", Issuer: s.issuer, ClientID: "detent", ClientSecret: "the secret of the tests", Scopes: []string{"profile", "groups"},
		UsernameClaim: "preferred_username", GroupsClaim: "groups", AdminGroups: []string{"others"}, SessionLife: time.Hour}}, s.api.cfg.PublicURL+"/oidc/callback")
	p := newPerson(t)
	p.signIn("3", "GET", s.api.cfg.PublicURL+"/oidc/sso")
	if me := p.me(s.api.cfg.PublicURL); !strings.Contains(me, `"username":"grace"`) || strings.Contains(me, `"admin":true`) {
		t.Errorf("grace is %s", me)
	}
	if code, body := newPerson(t).signIn("1", "GET", s.api.cfg.PublicURL+"/oidc/sso"); code != 403 || !strings.Contains(body, "det user create ada --remote") {
		t.Errorf("an unknown user: %d %s", code, body)
	}
	admin := s.user("admin")
	admin.post("/api/v1/users", `{"user":{"username":"ada","active":true,"remote":true}}`).ok()
	ada := newPerson(t)
	if code, body := ada.signIn("1", "GET", s.api.cfg.PublicURL+"/oidc/sso"); code != 200 {
		t.Errorf("a known user: %d %s", code, body)
	}
}

// TestAProviderThatIsAway: the master starts and serves without it.
func TestAProviderThatIsAway(t *testing.T) {
	r := newRig(t, func(c *Config) {
		c.SignIn = signin.New([]signin.Config{{Name: "corp", Issuer: "http://127.0.0.1:1", ClientID: "d", UsernameClaim: "email"}}, "http://127.0.0.1/oidc/callback")
	})
	r.anyone().get("/oidc/sso").says(503, "identity provider corp")
	r.anyone().get("/oidc/sso/other").says(404, "no identity provider")
	r.anyone().post("/api/v1/detent/oidc/device", `{}`).says(503, "identity provider corp")
	if newRig(t).anyone().get("/oidc/sso").is(404); t.Failed() {
		return
	}
}
