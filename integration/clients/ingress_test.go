package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

// headersProgram answers with the headers that it sees, and tries to set cookies of ours.
const headersProgram = `
import http.server, json, sys

class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({k.lower(): v for k, v in self.headers.items()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Set-Cookie", "auth=theirs; Path=/")
        self.send_header("Set-Cookie", "wide=1; Domain=localhost; Path=/")
        self.end_headers()
        self.wfile.write(body)

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Pages).serve_forever()
`

// runTraefik runs the job of Traefik that operators run.
func runTraefik(t *testing.T, r *rig.Rig, port int) {
	t.Helper()
	report := servers.NewReporter(os.Stderr)
	nomad, err := servers.Ensure(t.Context(), "nomad", report)
	if err != nil {
		t.Fatal(err)
	}
	traefik, err := servers.Ensure(t.Context(), "traefik", report)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), nomad.Path, "job", "run", "-detach", "-address="+r.NomadURL, "-var=driver=raw_exec", "-var=binary="+traefik.Path, "-var=domain=localhost",
		"-var=address=127.0.0.1", fmt.Sprint("-var=port=", port), "-var=tls=false", `-var=masters=["`+r.MasterURL+`"]`, "-var=consul_addr="+r.ConsulURL, filepath.Join(r.Root, "nomad/ingress/traefik.nomad.hcl"))
	cmd.Env = append(os.Environ(), "NOMAD_TOKEN="+r.NomadToken, "AWS_CA_BUNDLE=")
	if management, _ := r.ConsulTokens(); management != "" {
		put := exec.CommandContext(t.Context(), nomad.Path, "var", "put", "-address="+r.NomadURL, "nomad/jobs/det-traefik", "consul_token="+management)
		put.Env = cmd.Env
		if out, err := put.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// stranger is a browser without any cookie.
func stranger(t *testing.T, r *rig.Rig) *surfer {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &surfer{t: t, r: r, jar: jar, c: &http.Client{Jar: jar, Timeout: time.Minute, Transport: &http.Transport{DialContext: toLocalhost}}}
}

// TestTraefikLeadsToTasks: a real Traefik, configured by the tags of the tasks' services, forwards
// a browser's requests to a notebook at the notebook's own host, after it has asked the master
// about each request. The data do not pass through the master: a cell runs over a WebSocket while
// no master runs. The master answers requests for tasks that are queued or have ended.
func TestTraefikLeadsToTasks(t *testing.T) {
	turn.Second(t)
	r, dir := rig.NewOwn(t, "ingress")
	port := freePort(t)
	r.StartCluster(t, dir, local.Options{Name: "ingress", Slots: 2, Master: local.Master{
		Config: fmt.Sprintf("cluster_name: ingress\ntasks_domain: localhost:%d\ningress: {kind: traefik, entrypoints: [web]}\nresource_pools:\n  - {name: default, driver: raw_exec, slots: cpu, memory_mb_per_slot: 256}\n", port)}})
	runTraefik(t, r, port)
	out, err := r.Det(t, "notebook", "start", "--no-browser", "--config", "resources.slots=0", "--config", rig.WithPython(rig.PythonOf(t, "notebook")))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	id := rig.Started(t, out)
	origin, base := fmt.Sprintf("http://%s.localhost:%d", id, port), "/proxy/"+id
	opened := []string{"Sec-Fetch-User", "?1", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}
	s, somebody := newSurfer(t, r, "determined"), stranger(t, r)
	rig.Eventually(t, "Traefik answers", func() (bool, error) {
		code, body := somebody.do("GET", origin+base+"/lab", "", "none", opened...)
		return code == 401, fmt.Errorf("%d %.300s", code, body)
	})
	if code, body := s.do("GET", r.MasterURL+base+"/lab", "", "none", opened...); code != 200 || !strings.Contains(body, "JupyterLab") {
		t.Fatalf("the notebook by a browser: %d %.300s", code, body)
	}
	xsrf := s.cookie(origin+base+"/", "_xsrf")
	if xsrf == "" || s.cookie(origin+base+"/", "det-task-"+id) == "" {
		t.Fatalf("cookies: %q", xsrf)
	}

	r.NewUser(t, "eve", "")
	eve := newSurfer(t, r, "eve")
	if code, body := eve.do("GET", r.MasterURL+base+"/lab", "", "none", opened...); code != 403 || !strings.Contains(body, "not yours") {
		t.Errorf("another user: %d %.300s", code, body)
	}
	for what, visitor := range map[string]*surfer{"another user": eve, "a stranger": somebody} {
		for _, header := range [][]string{nil, {"X-Detent-Gateway", "guess"}, {"X-Forwarded-Host", "x.localhost", "X-Forwarded-Uri", "/", "X-Forwarded-Method", "GET"}, {"Authorization", "Bearer guess"}} {
			if code, body := visitor.do("GET", origin+base+"/api/contents", "", "none", header...); code != 401 {
				t.Errorf("%s with %v at the task's host: %d %.300s", what, header, code, body)
			}
		}
	}
	dialDirectly(t, r, id)

	var kernel struct{ ID string }
	code, body := s.do("POST", origin+base+"/api/kernels", `{}`, "same-origin", "Origin", origin, "X-XSRFToken", xsrf)
	if err := json.Unmarshal([]byte(body), &kernel); err != nil || code != 201 {
		t.Fatalf("a kernel: %d %s", code, body)
	}
	channels := origin + base + "/api/kernels/" + kernel.ID + "/channels"
	var ws *websocket.Conn
	rig.Eventually(t, "the WebSocket does not pass the master", func() (bool, error) {
		ws = s.socket(channels, origin)
		if metrics := string(r.Get(t, r.MasterURL+"/metrics")); !strings.Contains(metrics, "\ndet_visits_open 0\n") {
			return false, errors.Join(errors.New("the master forwards a request"), ws.Close())
		}
		return true, nil
	})
	defer ws.Close()
	if code, body := s.do("POST", origin+base+"/api/kernels", `{}`, "cross-site", "Origin", "http://evil.example", "X-XSRFToken", xsrf); code != 403 {
		t.Errorf("another page's request: %d %.300s", code, body)
	}
	if _, resp, err := s.try(channels, "http://evil.example"); err == nil || resp == nil || resp.StatusCode != 403 {
		t.Errorf("a WebSocket from another page: %v", err)
	}
	if got := runCell(t, ws, "import os; print('DET_TASK_ID' in os.environ, 6*7)"); got != "True 42\n" {
		t.Fatalf("the cell printed %q", got)
	}
	headersAtATask(t, r, s, port)

	r.Kill9(t, "master")
	if got := runCell(t, ws, "print(7*7)"); got != "49\n" {
		t.Errorf("while no master runs, the cell printed %q", got)
	}
	r.Healthy(t)
	if code, body := s.do("POST", r.MasterURL+"/api/v1/auth/logout", "", "same-origin"); code != 200 {
		t.Fatalf("sign out: %d %s", code, body)
	}
	ended := make(chan error, 1)
	go func() {
		for {
			if _, _, err := ws.ReadMessage(); err != nil {
				ended <- err
				return
			}
		}
	}()
	select {
	case <-ended:
	case <-time.After(rig.Patience):
		t.Error("the kernel's WebSocket outlives the session")
	}
	rig.Eventually(t, "the browser is out", func() (bool, error) {
		code, _ := s.do("GET", origin+base+"/lab", "", "same-origin")
		return code == 401, fmt.Errorf("%d", code)
	})

	if out, err := r.Det(t, "notebook", "kill", id); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	again := newSurfer(t, r, "determined")
	rig.Eventually(t, "the master answers for the notebook that is over", func() (bool, error) {
		code, body := again.do("GET", r.MasterURL+base+"/lab", "", "none", opened...)
		return code == 404, fmt.Errorf("%d %.300s", code, body)
	})
}

// headersAtATask: a command behind Traefik sees none of our cookies and headers, and sets no
// cookies for others.
func headersAtATask(t *testing.T, r *rig.Rig, s *surfer, port int) {
	t.Helper()
	pages, dir := freePort(t), t.TempDir()
	rig.Write(t, dir, "serve.py", headersProgram)
	config := rig.Write(t, t.TempDir(), "command.yaml", fmt.Sprintf("resources: {slots: 0}\nenvironment:\n  proxy_ports:\n  - {proxy_port: %d}\n", pages))
	out, err := r.Det(t, "command", "run", "--detach", "--config-file", config, "--context", dir, "python3", "serve.py", fmt.Sprint(pages))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	id := strings.TrimSpace(out[strings.LastIndex(strings.TrimSpace(out), "\n")+1:])
	defer func() {
		if out, err := r.Det(t, "command", "kill", id); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}()
	origin, page := fmt.Sprintf("http://%s.localhost:%d", id, port), fmt.Sprintf("/proxy/%s:%d/", id, pages)
	var seen map[string]string
	rig.Eventually(t, "the command's page is there", func() (bool, error) {
		code, body := s.do("GET", r.MasterURL+page, "", "none", "Sec-Fetch-User", "?1", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")
		return code == 200, fmt.Errorf("%d %.300s", code, body)
	})
	direct := func() (bool, error) {
		code, body := s.do("GET", origin+page, "", "same-origin", "Cookie", "own=1; auth=stolen", "Authorization", "Bearer stolen", "X-User-Token", "Bearer stolen", "X-Detent-Gateway", "guess")
		seen = nil
		err := json.Unmarshal([]byte(body), &seen)
		return err == nil && code == 200, fmt.Errorf("%d %.300s", code, body)
	}
	rig.Eventually(t, "the command shows its headers", direct)
	if s.cookie(origin+page, "wide") == "" {
		t.Error("the program cannot set a cookie for itself")
	}
	if seen["cookie"] != "own=1; wide=1" { // it has set the second one itself, for its own paths
		t.Errorf("the program sees the cookies %q", seen["cookie"])
	}
	for _, field := range []string{"authorization", "x-user-token", "x-detent-gateway"} {
		if seen[field] != "" {
			t.Errorf("the program sees %s: %s", field, seen[field])
		}
	}
	if seen["x-forwarded-prefix"] != strings.TrimSuffix(page, "/") || seen["x-forwarded-host"] != strings.TrimPrefix(origin, "http://") || seen["x-forwarded-proto"] != "http" {
		t.Errorf("the program receives the headers %v", seen)
	}
	for _, at := range []string{origin + "/", r.MasterURL + "/"} {
		if got := s.cookie(at, "wide"); got != "" {
			t.Errorf("the program has set a cookie for %s", at)
		}
	}
	if s.cookie(origin+page, "auth") == "theirs" {
		t.Error("the program has set the cookie of the API")
	}
}
