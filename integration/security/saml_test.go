package security

import (
	"fmt"
	"html"
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
// in there with a browser and in det, with the name and the groups that the company's provider told.
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
	keycloaktest.Start(t, port, r.MasterURL+"/oidc/callback", "the secret of the tests")

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
}

var (
	toCorp = regexp.MustCompile(`id="social-corp"[^>]*href="([^"]+)"|href="([^"]+)"[^>]*id="social-corp"`)
	action = regexp.MustCompile(`<form[^>]*action="([^"]+)"`)
	input  = regexp.MustCompile(`(?i)<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"`)
)

// throughSAML goes from the master to the broker, to the company's provider, where grace signs in, and back by the form that carries its
// answer.
func throughSAML(t *testing.T, browser *identitytest.Browser, method, begin string) {
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
			return
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
}
