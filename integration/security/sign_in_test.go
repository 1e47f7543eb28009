package security

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/identitytest"
)

// TestSignInOfTools: det signs in with an identity provider with a pasted address and with a device
// code, and Determined's own det with a pasted address.
func TestSignInOfTools(t *testing.T) {
	port, err := servers.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	r, dir := rig.NewOwn(t, "sign-in")
	r.StartCluster(t, dir, local.Options{Name: "sign-in", Master: local.Master{Config: fmt.Sprintf(`
cluster_name: sign-in
checkpoint_storage: {type: shared_fs, host_path: %s/checkpoints}
identity_providers:
  - {name: corp, issuer: "http://127.0.0.1:%d", client_id: detent, client_secret: the secret of the tests}
resource_pools:
  - {name: default, driver: raw_exec, slots: cpu, slots_per_node: 1}
`, dir, port)}})
	identitytest.Start(t, port, []string{r.MasterURL + "/oidc/callback"}, map[string]map[string]any{"7": {"preferred_username": "grace", "name": "Grace Hopper"}})

	home := "HOME=" + t.TempDir()
	det := func(stdin string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), filepath.Join(r.Bin, "det"), args...)
		cmd.Env = []string{"DET_MASTER=" + r.MasterURL, home, "NO_COLOR=1", "PATH=/usr/bin:/bin"}
		cmd.Stdin = strings.NewReader(stdin)
		return cmd
	}
	out, err := det("", "auth", "list-providers").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	rig.Holds(t, "the providers", string(out), "Available providers: corp.")

	// With an address that the user pastes.
	browser := identitytest.NewBrowser(t)
	if code, page := browser.SignIn("7", "POST", r.MasterURL+"/oidc/sso?relayState=cli"); code != 303 {
		t.Fatalf("%d %s", code, page)
	}
	out, err = det(browser.Last+"\n", "auth", "login", "--headless").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	rig.Holds(t, "det auth login --headless", string(out), "/oidc/sso?relayState=cli", "Authenticated as grace.")
	if out, err = det("", "user", "whoami").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	rig.Holds(t, "whoami", string(out), "grace")

	theirs := rig.Person{R: r, Python: rig.DeterminedPython(t), Home: t.TempDir()}
	again := identitytest.NewBrowser(t)
	again.SignIn("7", "POST", r.MasterURL+"/oidc/sso?relayState=cli")
	said, errors, code := theirs.Run(t, again.Last+"\n", theirs.Client(), "auth", "login", "--headless")
	if code != 0 {
		t.Fatalf("their det auth login: exit %d\n%s%s", code, said, errors)
	}
	rig.Holds(t, "their det auth login", said, "Authenticated as grace.")
	rig.Holds(t, "their whoami", theirs.Det(t, "user", "whoami"), "'grace'")
	rig.Holds(t, "their providers", theirs.Det(t, "auth", "list-providers"), "corp")

	// With a code.
	cmd := det("", "auth", "login", "--device", "-p", "corp")
	lines, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := bufio.NewReader(lines)
	first, err := read.ReadString('\n')
	words := strings.Fields(first) // Open ADDRESS in a browser, and enter the code CODE
	if err != nil || len(words) < 3 {
		t.Fatalf("%q %v", first, err)
	}
	if code, page := identitytest.NewBrowser(t).SignIn("7", "GET", words[1]+"?user_code="+words[len(words)-1]); code != 200 {
		t.Fatalf("%d %s", code, page)
	}
	rest, err := read.ReadString('\n')
	if err != nil || !strings.Contains(rest, "Authenticated as grace.") {
		t.Errorf("det auth login --device ends with %q: %v", rest, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
