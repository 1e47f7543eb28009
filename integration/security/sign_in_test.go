package security

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/identitytest"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

// TestSignInOfTools: det signs in with an identity provider with a pasted address and with a device
// code, and Determined's own det with a pasted address.
func TestSignInOfTools(t *testing.T) {
	turn.Second(t)
	free := take(t, "49176") // where det listens; before the cluster starts, whose connections could use it
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
job_sign_in: [{namespace: default, job: nightly, user: ci}]
resource_pools:
  - {name: default, driver: raw_exec, slots: cpu, slots_per_node: 1}
`, dir, port)}})
	t.Run("jobs of Nomad", func(t *testing.T) { jobsSignIn(t, r) })
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
	browser := signInHeadless(t, det("", "auth", "login", "--headless"))
	if out, err = det("", "user", "whoami").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	rig.Holds(t, "whoami", string(out), "grace")
	// The address of another sign-in, such as one with a token that somebody offers.
	if out, err = det(browser.Last+"\n", "auth", "login", "--headless").CombinedOutput(); err == nil {
		t.Errorf("the end of an earlier sign-in was accepted: %s", out)
	}

	// The port at which the browser would end the sign-in is taken.
	signInHeadless(t, det("", "auth", "login"))
	free()

	// With a browser; pages that the user looks at meanwhile offer tokens.
	cmd := det("", "auth", "login")
	opened := filepath.Join(t.TempDir(), "opened")
	cmd.Env = append(cmd.Env, "BROWSER="+opener(t, opened))
	_, out2 := pipes(t, cmd)
	if line, err := out2.ReadString('\n'); err != nil || !strings.Contains(line, "Your browser should open") {
		t.Fatal(line, err)
	}
	for _, offered := range []string{"?token=det.offered", strings.TrimPrefix(browser.Last, "http://localhost:49176/"), "?sealed=AAAA", "?sealed="} {
		if code, page, _ := identitytest.NewBrowser(t).Open("GET", "http://localhost:49176/"+offered, nil); code != 404 {
			t.Errorf("%s: %d %s", offered, code, page)
		}
	}
	var b []byte
	rig.Eventually(t, "the browser is opened", func() (bool, error) { b, _ = os.ReadFile(opened); return strings.HasSuffix(string(b), "\n"), nil })
	if code, page := browser.SignIn("7", "POST", strings.TrimSpace(string(b))); code != 303 {
		t.Fatalf("%d %s", code, page)
	}
	if strings.Contains(browser.Last, "det.") {
		t.Errorf("the address has a token in plain text: %s", browser.Last)
	}
	browser.Open("GET", browser.Last, nil)
	text, _ := io.ReadAll(out2)
	rig.Holds(t, "det auth login", string(text), "Authenticated as grace.")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}

	theirs := rig.Person{R: r, Python: rig.DeterminedPython(t), Home: t.TempDir()}
	again := identitytest.NewBrowser(t)
	again.SignIn("7", "POST", r.MasterURL+"/oidc/sso?relayState=cli")
	said, errors, code := theirs.Run(t, again.Last+"\n", theirs.Client(), "auth", "login", "--headless")
	if code != 0 {
		t.Fatalf("Determined's det auth login: exit %d\n%s%s", code, said, errors)
	}
	rig.Holds(t, "Determined's det auth login", said, "Authenticated as grace.")
	rig.Holds(t, "Determined's det: whoami", theirs.Det(t, "user", "whoami"), "'grace'")
	rig.Holds(t, "Determined's det: providers", theirs.Det(t, "auth", "list-providers"), "corp")

	// With a code.
	cmd = det("", "auth", "login", "--device", "-p", "corp")
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

// take listens at a port on all addresses of this machine that localhost may mean, so that no other
// program can. It waits while a connection of another test has the port as its own end.
func take(t *testing.T, port string) (free func()) {
	t.Helper()
	var listeners []net.Listener
	for _, host := range []string{"::1", "127.0.0.1"} {
		rig.Eventually(t, "port "+port+" of "+host+" is free", func() (bool, error) {
			l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(host, port))
			if err == nil {
				listeners = append(listeners, l)
			}
			return err == nil || !errors.Is(err, syscall.EADDRINUSE), err
		})
	}
	return func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	}
}

// signInHeadless signs det in as the person 7 of the provider, with an address that the person pastes.
func signInHeadless(t *testing.T, cmd *exec.Cmd) *identitytest.Browser {
	t.Helper()
	browser := identitytest.NewBrowser(t)
	headless(t, cmd, browser, func(address string) {
		if code, page := browser.SignIn("7", "POST", address); code != 303 {
			t.Fatalf("%d %s", code, page)
		}
	})
	return browser
}

// headless signs det in as grace with an address that the person opens, and one that the person pastes.
func headless(t *testing.T, cmd *exec.Cmd, browser *identitytest.Browser, signIn func(address string)) {
	t.Helper()
	address := ""
	in, out := pipes(t, cmd)
	for address == "" {
		line, err := out.ReadString('\n')
		if err != nil {
			t.Fatal(line, err)
		}
		if _, rest, found := strings.Cut(line, "'"); found {
			address, _, _ = strings.Cut(rest, "'")
		}
	}
	signIn(address)
	if _, err := io.WriteString(in, browser.Last+"\n"); err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(out)
	rig.Holds(t, "det auth login --headless", string(text), "Authenticated as grace.")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// pipes starts a program, and returns its input and its output.
func pipes(t *testing.T, cmd *exec.Cmd) (io.Writer, *bufio.Reader) {
	t.Helper()
	cmd.Stdin = nil
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return in, bufio.NewReader(out)
}

// opener is a browser that writes the address which it is to open into a file.
func opener(t *testing.T, file string) string {
	t.Helper()
	script := filepath.Join(t.TempDir(), "browser")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho \"$1\" > "+file+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return script
}
