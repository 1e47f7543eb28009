package api

import (
	"crypto/sha512"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/accounts"
)

func TestSigningIn(t *testing.T) {
	r := newRig(t)
	got := r.anyone().post("/api/v1/auth/login", `{"username":"Determined","password":"","isHashed":true}`).ok()
	if at(t, got.tree(), "user.username") != "determined" || !strings.Contains(got.header.Get("Set-Cookie"), "HttpOnly") {
		t.Fatalf("login: %s %v", got.body, got.header)
	}
	me := as{r: r, header: "Authorization", token: "Bearer " + at(t, got.tree(), "token").(string)}
	if at(t, me.get("/api/v1/me").ok().tree(), "user.username") != "determined" {
		t.Fatal("me is somebody else")
	}
	if at(t, me.get("/api/v1/me/").ok().tree(), "user.username") != "determined" {
		t.Fatal("a trailing slash matters")
	}
	me.post("/api/v1/auth/logout", "").ok()
	me.get("/api/v1/me").says(401, "sign in")
	r.anyone().get("/api/v1/me").says(401, "not signed in")
	for what, c := range map[string]as{
		"x-user-token": {header: "x-user-token"}, "Authorization": {header: "Authorization"}, "cookie": {header: "Cookie", token: "auth="},
		"the tasks' header": {header: "Grpc-Metadata-x-allocation-token"},
	} {
		token := r.user("admin").token
		c.r, c.token = r, c.token+strings.TrimPrefix(token, "Bearer ")
		if got := c.get("/api/v1/me"); got.code != 200 || at(t, got.tree(), "user.username") != "admin" {
			t.Errorf("%s: %d %s", what, got.code, got.body)
		}
	}
}

// keepWindow makes the window for wrong passwords an hour longer, so that all guesses are counted
// together on a slow machine too.
func (r *rig) keepWindow() {
	r.t.Helper()
	if err := r.db.Exec(r.t.Context(), `ALTER TABLE login_tries ALTER COLUMN since SET DEFAULT now() + interval '1 hour'`); err != nil {
		r.t.Fatal(err)
	}
}

func TestWrongPasswords(t *testing.T) {
	r := newRig(t)
	r.keepWindow()
	wrong := r.anyone().post("/api/v1/auth/login", `{"username":"admin","password":"x"}`).says(401, "invalid credentials")
	unknown := r.anyone().post("/api/v1/auth/login", `{"username":"nobody","password":"x"}`).says(401, "invalid credentials")
	if string(wrong.body) != string(unknown.body) {
		t.Fatalf("the answers tell who exists: %s and %s", wrong.body, unknown.body)
	}
	for range accounts.MaxTriesPerName - 1 {
		r.anyone().post("/api/v1/auth/login", `{"username":"nobody","password":"x"}`).says(401)
	}
	blocked := r.anyone().post("/api/v1/auth/login", `{"username":"NOBODY","password":"x"}`).says(429, "try again in")
	if blocked.header.Get("Retry-After") == "" {
		t.Fatal("no Retry-After")
	}
	r.anyone().post("/api/v1/auth/login", `{"username":"admin","password":""}`).ok()
	r.anyone().post("/api/v1/auth/login", `{"username":"","password":""}`).says(400, "username")
	r.anyone().post("/api/v1/auth/login", fmt.Sprintf(`{"username":%q,"password":""}`, strings.Repeat("x", 7_000))).says(401)
}

// Wrong passwords from other addresses lock nobody out, and those at one master count at the others.
func TestWrongPasswordsElsewhere(t *testing.T) {
	r := newRig(t)
	r.keepWindow()
	admin := r.user("admin")
	admin.patch("/api/v1/users/1", `{"password":"right","isHashed":false}`).ok()
	second := r.another()
	guess := func(m *rig, from, password string) int {
		m.t.Helper()
		local := &net.TCPAddr{IP: net.ParseIP(from)}
		client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DialContext: (&net.Dialer{LocalAddr: local}).DialContext, DisableKeepAlives: true}}
		resp, err := client.Post(m.url+"/api/v1/auth/login", "application/json", strings.NewReader(`{"username":"admin","password":"`+password+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	for i := range accounts.MaxTriesPerName {
		if got := guess([]*rig{r, second}[i%2], "127.0.0.9", "wrong"); got != 401 {
			t.Fatalf("wrong password %d: %d", i, got)
		}
	}
	for _, m := range []*rig{r, second} {
		if got := guess(m, "127.0.0.9", "right"); got != 429 {
			t.Errorf("one more guess from there: %d", got)
		}
		for range accounts.MaxTriesPerName + 2 { // who knows the password is never slowed
			if got := guess(m, "127.0.0.1", "right"); got != 200 {
				t.Fatalf("the admin, from elsewhere: %d", got)
			}
		}
	}
	if _, err := accounts.DropLoginTries(t.Context(), r.db, -2*time.Hour); err != nil {
		t.Fatal(err)
	}
	if got := guess(r, "127.0.0.9", "right"); got != 200 {
		t.Errorf("when the window is over: %d", got)
	}
}

// An address that a trusted proxy has added counts, and an address that a client claims does not.
func TestAddressesBehindAProxy(t *testing.T) {
	for name, c := range map[string]struct {
		trusted []netip.Prefix
		codes   [2]int
	}{
		"nobody is trusted": {nil, [2]int{429, 429}},
		"the proxy is":      {[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, [2]int{429, 401}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(cfg *Config) { cfg.TrustedProxies = c.trusted })
			r.keepWindow()
			try := func(from string) answer {
				return r.anyone().with("POST", "/api/v1/auth/login", strings.NewReader(`{"username":"admin","password":"wrong"}`),
					http.Header{"X-Forwarded-For": {"198.51.100.7, " + from}})
			}
			for range accounts.MaxTriesPerName {
				try("203.0.113.5").is(401)
			}
			try("203.0.113.5").is(c.codes[0])
			try("2001:db8::1").is(c.codes[1])
		})
	}
}

// Some proxies write a line of their own behind the client's.
func TestAProxyWithALineOfItsOwn(t *testing.T) {
	r := newRig(t, func(cfg *Config) { cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	r.keepWindow()
	guess := func(forged, seen string) answer {
		return r.anyone().with("POST", "/api/v1/auth/login", strings.NewReader(`{"username":"admin","password":"wrong"}`),
			http.Header{"X-Forwarded-For": {forged, seen}})
	}
	for i := range accounts.MaxTriesPerName {
		guess(fmt.Sprintf("198.51.100.%d", i), "203.0.113.5").is(401)
	}
	guess("198.51.100.200", "203.0.113.5").is(429)
	guess("203.0.113.5", "198.51.100.7").is(401)
}

func TestBlankPasswordsAreLocal(t *testing.T) {
	r := newRig(t, func(c *Config) { c.BlankLogin = func(string, string) bool { return false } })
	r.anyone().post("/api/v1/auth/login", `{"username":"admin","password":""}`).says(401, "blank passwords", "own machine")
	open := newRig(t)
	open.anyone().with("POST", "/api/v1/auth/login", strings.NewReader(`{"username":"admin","password":""}`),
		http.Header{"X-Forwarded-For": {"10.0.0.9"}}).says(401, "blank passwords")
	for _, name := range []string{"X-Forwarded-For", "Forwarded"} { // an empty line before the proxy's
		open.anyone().with("POST", "/api/v1/auth/login", strings.NewReader(`{"username":"admin","password":""}`),
			http.Header{name: {"", "10.0.0.9"}}).says(401, "blank passwords")
	}
}

// The master rejects every request of a page whose host name resolves to the master (DNS rebinding).
func TestOtherNamesAreRefused(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Hosts = []string{"detent.example:8443", "*.tasks.example"} })
	call := func(host, method, path, body string) answer {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, r.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		resp, err := r.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer{t: t, what: method + " " + host + path, code: resp.StatusCode, header: resp.Header, body: b}
	}
	blank := `{"username":"admin","password":""}`
	for _, host := range []string{"evil.example", "evil.example:8080", "detent.example.evil.example", "localhost.evil.example", "tasks.example", "127.0.0.1.nip.example", "notlocalhost"} {
		call(host, "POST", "/api/v1/auth/login", blank).says(403, "not a name of this master", "hosts")
		call(host, "GET", "/", "").says(403, "not a name of this master")
		call(host, "GET", "/api/v1/master", "").says(403, "not a name of this master")
		call(host, "GET", "/health", "").ok()
	}
	for _, host := range []string{"127.0.0.1", "127.0.0.1:8080", "localhost", "LOCALHOST.", "[::1]:8080", "a.localhost:1"} {
		call(host, "POST", "/api/v1/auth/login", blank).ok()
	}
	for _, host := range []string{"detent.example", "DETENT.example:1", "x.tasks.example", "192.0.2.7:8080", "[2001:db8::7]"} {
		call(host, "GET", "/api/v1/master", "").ok()
		call(host, "POST", "/api/v1/auth/login", blank).says(401, "blank passwords")
	}
}

func TestUsers(t *testing.T) {
	r := newRig(t)
	admin, other := r.user("admin"), r.user("determined")
	other.post("/api/v1/users", `{"user":{"username":"eve","active":true},"password":"p"}`).says(403, "admin")
	made := admin.post("/api/v1/users", `{"isHashed":true,"password":"abc","user":{"active":true,"admin":false,"username":"Zoe","remote":false,"displayName":"Z"}}`).ok().tree()
	if at(t, made, "user.username") != "zoe" || at(t, made, "user.displayName") != "Z" {
		t.Fatalf("made %v", made)
	}
	id := int(at(t, made, "user.id").(float64))
	admin.post("/api/v1/users", `{"user":{"username":"zoe","active":true},"password":"p"}`).says(409, "zoe already")
	for body, words := range map[string]string{
		`{}`:                               "user:",
		`{"user":{"username":" "}}`:        "username: is empty",
		`{"user":{"username":"a/b"}}`:      "must not contain",
		`{"user":{"username":"a\u0000b"}}`: "control characters",
		`{"user":{"username":"` + strings.Repeat("n", 10_000) + `"}}`:                                "10000 bytes",
		`{"user":{"username":"x","agentUserGroup":{"agentUid":1}}}`:                                  "give all of",
		`{"user":{"username":"x"},"password":"` + strings.Repeat("p", accounts.MaxPassword+1) + `"}`: "password",
		`{"user":7}`: "user: expected an object",
		`not json`:   "not JSON",
	} {
		admin.post("/api/v1/users", body).says(400, words)
	}
	r.anyone().post("/api/v1/auth/login", `{"username":"zoe","password":"abc","isHashed":true}`).ok()
	if at(t, other.get("/api/v1/users/ZOE/by-username").ok().tree(), "user.id") != float64(id) {
		t.Fatal("by-username finds somebody else")
	}
	other.get("/api/v1/users/nobody/by-username").says(404, "nobody")
	other.get("/api/v1/users/4711").says(404, "4711")
	other.get("/api/v1/users/abc").says(400, "whole number")
	other.patch(fmt.Sprintf("/api/v1/users/%d", id), `{"displayName":"no"}`).says(403)
	admin.patch(fmt.Sprintf("/api/v1/users/%d", id), `{"active":false,"displayName":null,"agentUserGroup":{"agentUid":1,"agentGid":2,"agentUser":"u","agentGroup":"g"}}`).ok()
	r.anyone().post("/api/v1/auth/login", `{"username":"zoe","password":"abc","isHashed":true}`).says(403, "user is not active", "det user activate zoe")
	got := admin.get(fmt.Sprintf("/api/v1/users/%d", id)).ok().tree()
	for _, name := range []string{"Admin", "DETERMINED"} {
		admin.patch(fmt.Sprintf("/api/v1/users/%d", id), fmt.Sprintf(`{"displayName":%q}`, name)).says(400, "similar username or display name")
	}
	if at(t, got, "user.displayName") != "Z" || at(t, got, "user.agentUserGroup.agentGid") != 2.0 || at(t, got, "user.active") != false {
		t.Fatalf("after patch: %v", got)
	}
	list := admin.get("/api/v1/users?active=true&offset=0&sortBy=SORT_BY_USER_NAME&orderBy=ORDER_BY_DESC").ok().tree()
	if at(t, list, "pagination.total") != 2.0 || at(t, list, "users.0.username") != "determined" {
		t.Fatalf("list: %v", list)
	}
	if page := admin.get("/api/v1/users?limit=1&offset=-1").ok().tree(); at(t, page, "pagination.startIndex") != 2.0 || at(t, page, "pagination.endIndex") != 3.0 {
		t.Fatalf("page: %v", page)
	}
	admin.get("/api/v1/users?offset=9").says(400, "offset out of bounds")
	admin.get("/api/v1/users?limit=x").says(400, "limit")
	admin.get("/api/v1/users?active=maybe").says(400, "active")
}

func TestPasswords(t *testing.T) {
	r := newRig(t)
	admin, me := r.user("admin"), r.user("determined")
	elsewhere := r.user("determined")
	uid := int(at(t, me.get("/api/v1/me").ok().tree(), "user.id").(float64))
	path := fmt.Sprintf("/api/v1/users/%d", uid)
	me.patch(path, `{"password":"hashed-by-client","isHashed":true}`).ok()
	me.get("/api/v1/me").ok()
	elsewhere.get("/api/v1/me").says(401)
	r.anyone().post("/api/v1/auth/login", `{"username":"determined","password":"hashed-by-client","isHashed":true}`).ok()
	r.anyone().post("/api/v1/auth/login", `{"username":"determined","password":""}`).says(401, "invalid credentials")
	admin.post(path+"/password", `"typed"`).ok()
	r.anyone().post("/api/v1/auth/login", `{"username":"determined","password":"typed"}`).ok()
	sent := fmt.Sprintf("%x", sha512.Sum512([]byte("GubPEmmotfiK9TMD6Zdw"+"typed"))) // as Determined's clients send it
	r.anyone().post("/api/v1/auth/login", fmt.Sprintf(`{"username":"determined","password":%q,"isHashed":true}`, sent)).ok()
	me.patch(path, `{"admin":true}`).is(401) // the admin's change signed everybody out
	admin.patch("/api/v1/users/1", `{"admin":false}`).says(409, "last active admin")
}

func TestCookiesAreForOurOwnPages(t *testing.T) {
	r := newRig(t)
	cookie := "auth=" + strings.TrimPrefix(r.user("admin").token, "Bearer ")
	host := strings.TrimPrefix(r.url, "http://")
	for _, c := range []struct {
		method, site, origin string
		code                 int
	}{
		{"GET", "same-origin", "", 200}, {"GET", "none", "", 200}, {"GET", "cross-site", "", 403}, {"GET", "same-site", "", 403},
		{"GET", "", "", 200}, {"GET", "", "http://evil.example", 403}, {"POST", "", "", 403},
		{"POST", "", "http://" + host, 200}, {"POST", "cross-site", "http://" + host, 403}, {"POST", "", "null", 403},
	} {
		h := http.Header{"Cookie": {cookie}}
		if c.site != "" {
			h.Set("Sec-Fetch-Site", c.site)
		}
		if c.origin != "" {
			h.Set("Origin", c.origin)
		}
		path, body := "/api/v1/me", ""
		if c.method == "POST" {
			path, body = "/api/v1/users", fmt.Sprintf(`{"user":{"username":"u%d"}}`, c.code)
		}
		got := r.anyone().with(c.method, path, strings.NewReader(body), h)
		if got.code != c.code {
			t.Errorf("%+v: %d %s", c, got.code, got.body)
		}
	}
}
