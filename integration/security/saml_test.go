package security

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/identitytest"
	"github.com/detent-ml/detent/nomad/servers/keycloaktest"
)

// TestSignInByABroker: a company's provider knows only SAML, and Keycloak stands before it as docs/operate/sign-in.md describes. A person signs
// in there with a browser and in det, with the name and the groups that the company's provider told. She cannot put herself into another group at the
// broker.
func TestSignInByABroker(t *testing.T) {
	rig.Long(t)
	port, err := servers.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	r, dir := rig.NewOwn(t, "broker")
	r.StartCluster(t, dir, local.Options{Name: "broker", Master: local.Master{Config: rig.MasterConfig(dir) + fmt.Sprintf(`
identity_providers:
  - {name: corp, issuer: "http://127.0.0.1:%d/realms/broker", client_id: detent, client_secret: the secret of the tests,
     username_claim: preferred_username, groups_claim: groups, sync_groups: create, admin_groups: [ml-platform]}
`, port)}})
	broker := keycloaktest.Start(t, port, r.MasterURL+"/oidc/callback", "the secret of the tests")

	browser := identitytest.NewBrowser(t)
	throughSAML(t, browser, "GET", r.MasterURL+"/oidc/sso")
	if me := browser.Me(r.MasterURL); !strings.Contains(me, `"username":"grace"`) || !strings.Contains(me, `"admin":true`) {
		t.Errorf("the master knows %s", me)
	}

	cmd := exec.CommandContext(t.Context(), filepath.Join(r.Bin, "det"), "auth", "login", "--headless")
	cmd.Env = []string{"DET_MASTER=" + r.MasterURL, "HOME=" + t.TempDir(), "NO_COLOR=1", "PATH=/usr/bin:/bin"}
	pasted := identitytest.NewBrowser(t)
	headless(t, cmd, pasted, func(address string) { throughSAML(t, pasted, "POST", address) })

	groups, err := r.Det(t, "user-group", "describe", "ml-platform")
	if err != nil {
		t.Fatalf("%v\n%s", err, groups)
	}
	rig.Holds(t, "the group", groups, "grace")

	browser = identitytest.NewBrowser(t)
	putsSelfIntoGroup(t, browser, broker, "self-made")
	// She is signed in at the broker, which does not ask the company's provider again.
	if _, page, at := browser.Open("GET", r.MasterURL+"/oidc/sso", nil); !strings.HasPrefix(at.String(), r.MasterURL) {
		t.Fatalf("the broker asks grace to sign in again: %s\n%s", at, page)
	}
	if me := browser.Me(r.MasterURL); !strings.Contains(me, `"username":"grace"`) || !strings.Contains(me, `"admin":true`) {
		t.Errorf("after grace has changed her account at the broker, the master knows %s", me)
	}
	if groups, err = r.Det(t, "user-group", "list"); err != nil || strings.Contains(groups, "self-made") || !strings.Contains(groups, "ml-platform") {
		t.Errorf("the groups, after grace has put herself into another one at the broker: %v\n%s", err, groups)
	}
}

// putsSelfIntoGroup lets grace sign in at the broker's account console and change her own account, as it does: she becomes a member of a group, if the broker
// lets her.
func putsSelfIntoGroup(t *testing.T, browser *identitytest.Browser, broker keycloaktest.Keycloak, group string) {
	t.Helper()
	const verifier = "a-verifier-of-the-tests-that-is-longer-than-forty-three"
	digest := sha256.Sum256([]byte(verifier))
	account := broker.Issuer() + "/account"
	at := throughSAML(t, browser, "GET", broker.Issuer()+"/protocol/openid-connect/auth?"+url.Values{"client_id": {"account-console"}, "redirect_uri": {account + "/"},
		"response_type": {"code"}, "scope": {"openid"}, "code_challenge_method": {"S256"}, "code_challenge": {base64.RawURLEncoding.EncodeToString(digest[:])}}.Encode())
	code := at.Query().Get("code")
	if code == "" {
		t.Fatalf("the broker gives the account console no code: %s", at)
	}
	var token struct {
		AccessToken string `json:"access_token"`
	}
	_, body, _ := browser.Open("POST", broker.Issuer()+"/protocol/openid-connect/token", url.Values{"grant_type": {"authorization_code"},
		"client_id": {"account-console"}, "redirect_uri": {account + "/"}, "code": {code}, "code_verifier": {verifier}})
	if err := json.Unmarshal([]byte(body), &token); err != nil || token.AccessToken == "" {
		t.Fatalf("the broker gives the account console no token: %s", body)
	}
	asked := func(method, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, account+"/", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token.AccessToken)
		req.Header.Set("Accept", "application/json")
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text)
	}
	if status, text := asked("GET", ""); status != http.StatusOK || !strings.Contains(text, "grace@example.com") {
		t.Fatalf("the account: %d %s", status, text)
	}
	status, text := asked("POST", fmt.Sprintf(`{"username":"grace","email":"grace@example.com","firstName":"Grace","lastName":"Hopper","attributes":{"groups":["ml-platform",%q]}}`, group))
	t.Logf("the broker answers %d %s", status, text)
	if status != http.StatusNoContent && status != http.StatusBadRequest { // it ignores, or rejects, what she may not change
		t.Fatalf("the change of the account: %d %s", status, text)
	}
}

var (
	toCorp = regexp.MustCompile(`id="social-corp"[^>]*href="([^"]+)"|href="([^"]+)"[^>]*id="social-corp"`)
	action = regexp.MustCompile(`<form[^>]*action="([^"]+)"`)
	input  = regexp.MustCompile(`(?i)<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"`)
)

// throughSAML goes from a page of the master or of the broker to the broker, to the company's provider, where grace signs in, and back by the form that
// carries its answer, and returns the address of the last page.
func throughSAML(t *testing.T, browser *identitytest.Browser, method, begin string) *url.URL {
	t.Helper()
	_, page, at := browser.Open(method, begin, nil)
	follow := func(address string, form url.Values) {
		t.Helper()
		next, err := at.Parse(html.UnescapeString(address))
		if err != nil {
			t.Fatal(err)
		}
		method := "GET"
		if form != nil {
			method = "POST"
		}
		_, page, at = browser.Open(method, next.String(), form)
	}
	m := toCorp.FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("%s does not lead to the company's provider:\n%s", at, page)
	}
	follow(m[1]+m[2], nil)
	for range 6 {
		form := action.FindStringSubmatch(page)
		if form == nil {
			return at
		}
		fields := url.Values{}
		for _, i := range input.FindAllStringSubmatch(page, -1) {
			fields.Set(i[1], html.UnescapeString(i[2]))
		}
		if strings.Contains(page, `name="password"`) {
			fields.Set("username", "grace")
			fields.Set("password", "the password of the tests")
		}
		follow(form[1], fields)
	}
	t.Fatalf("forms without end; the last is at %s:\n%s", at, page)
	return nil
}
