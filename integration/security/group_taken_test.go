package security

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/identitytest"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

// endless serves a page and an answer without an end at a port, and prints a line each second.
const endless = `
import http.server, sys, threading, time

class Pages(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        if not self.path.endswith("stream"):
            body = b"<p>a page of the task</p>"
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while True:
            self.wfile.write(b"2\r\nx\n\r\n")
            time.sleep(0.2)

def say():
    while True:
        print("a line", flush=True)
        time.sleep(1)

threading.Thread(target=say, daemon=True).start()
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Pages).serve_forever()
`

// within is how soon after a group was taken away everything that needed it has ended.
const within = time.Minute

// TestAGroupTakenAwayAtTheProvider: a person signs in with OpenID Connect, in Chromium and with det, as a member of a group that
// the provider manages by SCIM. When the provider takes the person out of the group, the open streams, the pages of tasks
// and the tunnels of both end within a minute.
func TestAGroupTakenAwayAtTheProvider(t *testing.T) {
	turn.First(t)
	node, chromium := rig.BrowserTools(t)
	r, dir := rig.NewOwn(t, "group")
	secret := rig.Write(t, dir, "scim", "a secret token of the provider")
	startWithProvider(t, r, dir, "recheck: 0", fmt.Sprintf("scim: {enabled: true, auth: {type: bearer, token_file: %s}}\n", secret), map[string]any{"preferred_username": "grace"})
	provider := scimProvider{r, "a secret token of the provider"}
	grace := provider.create(t, "Users", `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"grace"}`)
	group := provider.create(t, "Groups", fmt.Sprintf(`{"schemas":["urn:ietf:params:scim:schemas:core:2.0:Group"],"displayName":"vision","members":[{"value":%q}]}`, grace))
	takeAway(t, r, node, chromium, func() {
		provider.ask(t, http.MethodPatch, "Groups/"+group, fmt.Sprintf(`{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[{"op":"remove","path":"members[value eq \"%s\"]"}]}`, grace), http.StatusOK)
	})
}

// TestAGroupTakenAwayWithoutSCIM: the same with OpenID Connect alone. The provider tells nobody; the master asks it, with
// refresh tokens that are valid once.
func TestAGroupTakenAwayWithoutSCIM(t *testing.T) {
	turn.Second(t)
	node, chromium := rig.BrowserTools(t)
	r, dir := rig.NewOwn(t, "asked")
	issuer := startWithProvider(t, r, dir, "scopes: [profile, email, groups], groups_claim: groups, sync_groups: create, offline_access: consent", "", map[string]any{"preferred_username": "grace", "groups": []string{"vision"}})
	takeAway(t, r, node, chromium, func() {
		identitytest.SetUsers(t, issuer, map[string]map[string]any{"7": {"preferred_username": "grace", "groups": []string{}}})
	})
}

// startWithProvider starts a cluster with roles whose users sign in with a provider that knows grace, and returns its issuer.
// Its access tokens are valid for 20 seconds.
func startWithProvider(t *testing.T, r *rig.Rig, dir, keys, config string, grace map[string]any) (issuer string) {
	t.Helper()
	port, err := servers.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	r.StartCluster(t, dir, local.Options{Name: "group", Master: local.Master{Config: rig.MasterConfig(dir) + fmt.Sprintf(`
security: {authz: {type: rbac}}
%sidentity_providers:
  - {name: corp, issuer: "http://127.0.0.1:%d", client_id: detent, client_secret: the secret of the tests, %s}
`, config, port, keys)}})
	return identitytest.StartWith(t, port, []string{r.MasterURL + "/oidc/callback"}, identitytest.Options{Access: 20 * time.Second}, map[string]map[string]any{"7": grace})
}

// takeAway lets grace, a member of the group vision, open streams, pages of tasks and tunnels, and tests that they end within
// a minute after take has taken her out of the group.
func takeAway(t *testing.T, r *rig.Rig, node, chromium string, take func()) {
	t.Helper()
	home := t.TempDir()
	det := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), filepath.Join(r.Bin, "det"), args...)
		cmd.Env = []string{"DET_MASTER=" + r.MasterURL, "HOME=" + home, "NO_COLOR=1", "PATH=/usr/bin:/bin"}
		return cmd
	}
	signInHeadless(t, det("auth", "login", "--headless"))
	for _, args := range [][]string{{"workspace", "create", "vision"}, {"rbac", "assign-role", "Editor", "-w", "vision", "-g", "vision"}} {
		if out, stderr, code := r.Run(t, []string{"DET_USER=admin"}, args...); code != 0 {
			t.Fatalf("det %s: exit %d\n%s%s", strings.Join(args, " "), code, out, stderr)
		}
	}
	served, err := servers.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	code := t.TempDir()
	rig.Write(t, code, "serve.py", endless)
	config := rig.Write(t, t.TempDir(), "command.yaml", fmt.Sprintf("resources: {slots: 0}\nenvironment: {proxy_ports: [{proxy_port: %d}]}\n", served))
	out, err := det("command", "run", "--detach", "-w", "vision", "--config-file", config, "--context", code, "python3", "serve.py", fmt.Sprint(served)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	words := strings.Fields(string(out))
	task := words[len(words)-1]
	page := fmt.Sprintf("/proxy/%s:%d/", task, served)

	logs := det("task", "logs", "-f", task)
	_, lines := pipes(t, logs)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("%q %v", line, err)
		}
		if strings.Contains(line, "a line") {
			break
		}
	}
	here, err := servers.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	tunnel := det("task", "tunnel", task, fmt.Sprintf("%d:%d", here, served))
	if err := tunnel.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = tunnel.Process.Kill()
		_ = tunnel.Wait()
	}()
	conn := openStream(t, here)

	world, err := json.Marshal(map[string]string{"master": r.MasterURL, "task": task, "page": page, "subject": "7"})
	if err != nil {
		t.Fatal(err)
	}
	browser := exec.CommandContext(t.Context(), node, "test/taken.mjs")
	browser.Dir = filepath.Join(r.Root, "webui")
	browser.Env = append(os.Environ(), "CHROMIUM="+chromium, "DETENT_WORLD="+string(world))
	browser.Stderr = os.Stderr
	in, seen := pipes(t, browser)
	for {
		line, err := seen.ReadString('\n')
		if err != nil {
			t.Fatalf("the browser: %q %v", line, err)
		}
		t.Logf("the browser: %s", line)
		if strings.TrimSpace(line) == "READY" {
			break
		}
	}

	take()
	taken := time.Now()
	if _, err := io.WriteString(in, "taken\n"); err != nil {
		t.Fatal(err)
	}
	ended := make(chan string, 2)
	go func() { _, err := io.Copy(io.Discard, conn); ended <- fmt.Sprint("the tunnel of det: ", err) }()
	go func() {
		rest, _ := io.ReadAll(lines)
		ended <- fmt.Sprint("det task logs -f: ", logs.Wait(), ": ", lastLine(rest))
	}()
	for range 2 {
		select {
		case why := <-ended:
			t.Logf("after %v: %v", time.Since(taken).Round(time.Millisecond), why)
		case <-time.After(time.Until(taken.Add(within))):
			t.Fatalf("after %v a stream or a tunnel of det is still open", within)
		}
	}
	rest, err := io.ReadAll(seen)
	t.Logf("the browser: %s", rest)
	if err := browser.Wait(); err != nil {
		t.Errorf("the browser: %v", err)
	}
	if err != nil || !strings.Contains(string(rest), "ENDED") {
		t.Errorf("the browser ends with %q, %v", rest, err)
	}
	if out, err := det("task", "logs", task).CombinedOutput(); err == nil || !strings.Contains(string(out), "not found") {
		t.Errorf("det task logs afterwards: %v\n%s", err, out)
	}
}

func lastLine(text []byte) string {
	list := strings.Split(strings.TrimSpace(string(text)), "\n")
	return list[len(list)-1]
}

// openStream opens the answer without an end at a local port, and reads its beginning.
func openStream(t *testing.T, port int) net.Conn {
	t.Helper()
	var conn net.Conn
	rig.Eventually(t, "the task's port answers", func() (bool, error) {
		c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), 10*time.Second)
		if err != nil {
			return false, err
		}
		if _, err := io.WriteString(c, "GET /stream HTTP/1.1\r\nHost: task\r\n\r\n"); err != nil {
			return false, err
		}
		line, err := bufio.NewReader(io.LimitReader(c, 12)).ReadString('0')
		if err != nil {
			_ = c.Close()
			return false, fmt.Errorf("%q %w", line, err)
		}
		conn = c
		return true, nil
	})
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// A scimProvider is the SCIM client of an identity provider.
type scimProvider struct {
	r      *rig.Rig
	secret string
}

func (p scimProvider) ask(t *testing.T, method, path, body string, want int) map[string]any {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, p.r.MasterURL+"/scim/v2/"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.secret)
	req.Header.Set("Content-Type", "application/scim+json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || resp.StatusCode != want {
		t.Fatalf("%s %s: %s %v %v", method, path, resp.Status, got, err)
	}
	return got
}

func (p scimProvider) create(t *testing.T, kind, body string) (id string) {
	t.Helper()
	id, _ = p.ask(t, http.MethodPost, kind, body, http.StatusCreated)["id"].(string)
	return id
}
