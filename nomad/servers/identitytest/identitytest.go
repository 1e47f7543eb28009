// Package identitytest starts a real provider of OpenID Connect for tests, and signs people in there
// as a browser does.
package identitytest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/nomad/servers/nodeprog"
)

// toolAddress is where a sign-in of det ends.
const toolAddress = "http://localhost:49176/"

// Start starts a provider at a port, which sends browsers back to the given addresses, and returns
// its issuer. Users are known by the name with which they sign in, with the claims about them.
func Start(t testing.TB, port int, callbacks []string, users map[string]map[string]any) (issuer string) {
	t.Helper()
	return StartWith(t, port, callbacks, Options{}, users)
}

// Options are what tests want of a provider beside its users.
type Options struct {
	SignOut string        // an address that it tells when a user signs out there
	Access  time.Duration // how long access tokens are valid; 0: an hour
}

// StartWith is Start with options.
func StartWith(t testing.TB, port int, callbacks []string, o Options, users map[string]map[string]any) (issuer string) {
	t.Helper()
	script, there, err := nodeprog.OIDCProvider.Find()
	if err != nil {
		t.Fatal(err)
	}
	if !there {
		t.Skip("oidc-provider is not installed, or Node is missing; run just emulators")
	}
	cmd := exec.CommandContext(t.Context(), "node", script)
	known, err := json.Marshal(users)
	if err != nil {
		t.Fatal(err)
	}
	back, err := json.Marshal(callbacks)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "IDENTITY_PORT="+strconv.Itoa(port), "IDENTITY_USERS="+string(known), "IDENTITY_CALLBACKS="+string(back), "IDENTITY_LOGOUT="+o.SignOut)
	if o.Access > 0 {
		cmd.Env = append(cmd.Env, "IDENTITY_ACCESS="+strconv.Itoa(int(o.Access.Seconds())))
	}
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

// SetUsers replaces the users of a provider. It does not know a user with the claim disabled.
func SetUsers(t testing.TB, issuer string, users map[string]map[string]any) {
	t.Helper()
	set(t, issuer+"/of-the-tests/users", users)
}

// SetAway makes a provider answer 503, or answer again.
func SetAway(t testing.TB, issuer string, away bool) {
	t.Helper()
	set(t, issuer+"/of-the-tests/away", away)
}

func set(t testing.TB, address string, value any) {
	t.Helper()
	body, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, address, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the provider answered %s", resp.Status)
	}
}

// A Browser is a browser of one person: it keeps cookies, follows redirects, and fills in the
// provider's forms.
type Browser struct {
	t      testing.TB
	client *http.Client
	// Last is the address on this machine at which a sign-in of det ended.
	Last string
	// Without is a scope that the person removes from the addresses to which pages lead.
	Without string
}

// trusting keeps cookies as browsers do on this machine: also those that are for secure connections only, such as a provider's of who is signed in.
type trusting struct{ *cookiejar.Jar }

func (j trusting) SetCookies(from *url.URL, cookies []*http.Cookie) {
	for _, c := range cookies {
		c.Secure = false
	}
	j.Jar.SetCookies(from, cookies)
}

// NewBrowser returns a browser without cookies.
func NewBrowser(t testing.TB) *Browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &Browser{t: t}
	p.client = &http.Client{Jar: trusting{jar}, Timeout: 20 * time.Second, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), toolAddress) {
			p.Last = r.URL.String()
			return http.ErrUseLastResponse
		}
		if q := r.URL.Query(); p.Without != "" && q.Has("scope") {
			q.Set("scope", strings.Join(slices.DeleteFunc(strings.Fields(q.Get("scope")), func(s string) bool { return s == p.Without }), " "))
			r.URL.RawQuery = q.Encode()
		}
		return nil
	}}
	return p
}

// Open requests a page, and returns its status, its text and its address after redirects.
func (p *Browser) Open(method, address string, form url.Values) (int, string, *url.URL) {
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

// SignIn fills in the provider's forms, from a page that leads there, and returns the last page.
func (p *Browser) SignIn(name, method, begin string) (int, string) {
	p.t.Helper()
	code, body, at := p.Open(method, begin, nil)
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
		code, body, at = p.Open(http.MethodPost, next.String(), form)
	}
	return code, body
}

// SignOut signs the person out at a provider.
func (p *Browser) SignOut(issuer string) {
	p.t.Helper()
	_, body, at := p.Open(http.MethodGet, issuer+"/session/end", nil)
	m, secret := formAction.FindStringSubmatch(body), regexp.MustCompile(`name="xsrf" value="([^"]*)"`).FindStringSubmatch(body)
	if m == nil || secret == nil {
		p.t.Fatalf("no form for a sign-out: %s", body)
	}
	to, err := at.Parse(m[1])
	if err != nil {
		p.t.Fatal(err)
	}
	if code, body, _ := p.Open(http.MethodPost, to.String(), url.Values{"xsrf": {secret[1]}, "logout": {"yes"}}); code != http.StatusOK {
		p.t.Fatalf("the sign-out: %d %s", code, body)
	}
}

// Me returns what the master says about the user who is signed in.
func (p *Browser) Me(public string) string {
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
