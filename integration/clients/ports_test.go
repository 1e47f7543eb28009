package clients

import (
	"bufio"
	"context"
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
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// portsProgram serves pages and lines of text at two ports of the task.
const portsProgram = `
import http.server, os, socketserver, sys, threading

class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = ("page %s of %s" % (self.path, os.environ["DET_TASK_ID"])).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

class Lines(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            self.wfile.write(b"%s says %s" % (os.environ["DET_TASK_ID"].encode(), line))

class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True

pages, lines = int(sys.argv[1]), int(sys.argv[2])
threading.Thread(target=Server(("127.0.0.1", lines), Lines).serve_forever).start()
print("serving", flush=True)
http.server.ThreadingHTTPServer(("127.0.0.1", pages), Pages).serve_forever()
`

func freePort(t *testing.T) int {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port
}

// says returns the answer to a line that is sent to a local port of a tunnel.
func says(port int, line string) (string, error) {
	conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Minute)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, line+"\n"); err != nil {
		return "", err
	}
	return bufio.NewReader(conn).ReadString('\n')
}

// background runs a client until the test ends.
func background(t *testing.T, env []string, program string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	out := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was interrupted
		if t.Failed() {
			t.Logf("%s %v:\n%s", filepath.Base(program), args, out)
		}
	})
}

// TestPortsOfACommand: a command serves pages and lines; det and Determined's client reach both
// through the master.
func TestPortsOfACommand(t *testing.T) {
	r := rig.Start(t)
	pages, lines := freePort(t), freePort(t)
	dir := t.TempDir()
	rig.Write(t, dir, "serve.py", portsProgram)
	config := rig.Write(t, t.TempDir(), "command.yaml", fmt.Sprintf("resources: {slots: 0}\nenvironment:\n  proxy_ports:\n  - {proxy_port: %d}\n  - {proxy_port: %d, proxy_tcp: true, unauthenticated: true}\n", pages, lines))
	out, err := r.Det(t, "command", "run", "--detach", "--config-file", config, "--context", dir, "python3", "serve.py", fmt.Sprint(pages), fmt.Sprint(lines))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(out, "every port requires a sign-in") {
		t.Errorf("the output does not warn that unauthenticated ports are not allowed:\n%s", out)
	}
	id := strings.TrimSpace(out[strings.LastIndex(strings.TrimSpace(out), "\n")+1:])
	defer func() {
		if out, err := r.Det(t, "command", "kill", id); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}()
	page := fmt.Sprintf("/proxy/%s:%d/a?b=c", id, pages)
	rig.Eventually(t, "the command's page is there", func() (bool, error) {
		code, body := r.Page(t, r.Client, page)
		return code == 200 && body == "page "+page+" of "+id, fmt.Errorf("%d %s", code, body)
	})
	for what, path := range map[string]string{"nobody": page, "nobody, at an unauthenticated port": fmt.Sprintf("/proxy/%s:%d/", id, lines)} {
		if code, body := r.Page(t, nil, path); code != 401 {
			t.Errorf("%s: %d %s", what, code, body)
		}
	}
	s := newSurfer(t, r, "determined")
	if code, body := s.do("GET", r.MasterURL+page, "", "none", "Sec-Fetch-User", "?1", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"); code != 200 || body != "page "+page+" of "+id {
		t.Errorf("a browser: %d %s", code, body)
	}
	if out, err := r.Det(t, "task", "list"); err != nil || !strings.Contains(out, fmt.Sprint(lines)) || !strings.Contains(out, fmt.Sprint(pages)) {
		t.Errorf("det task list does not show the ports: %v\n%s", err, out)
	}

	want := id + " says hello\n"
	reaches := func(what string, local int) {
		t.Helper()
		rig.Eventually(t, what+" reaches the command", func() (bool, error) {
			got, err := says(local, "hello")
			return got == want, fmt.Errorf("%q: %w", got, err)
		})
	}
	ours, theirs := freePort(t), freePort(t)
	localPages := freePort(t)
	background(t, []string{"DET_MASTER=" + r.MasterURL, "DET_USER=determined", "DET_PASS=", "HOME=" + t.TempDir()},
		filepath.Join(r.Bin, "det"), "task", "tunnel", id, fmt.Sprintf("%d:%d", ours, lines), fmt.Sprintf("%d:%d", localPages, pages))
	reaches("det task tunnel", ours)
	resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/x", localPages))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "page /x of "+id {
		t.Errorf("the page through det's tunnel: %s %v", body, err)
	}
	u := r.Person(t, "determined", "")
	background(t, []string{"HOME=" + u.Home, "DET_MASTER=" + r.MasterURL}, u.Python, "-m", "determined.cli.tunnel", "--auth", "--listener", fmt.Sprint(theirs), r.MasterURL, fmt.Sprintf("%s:%d", id, lines))
	reaches("Determined's tunnel", theirs)
}

// TestPortsOfATrial: --publish of det and of Determined's client reaches the first trial while its
// log is followed.
func TestPortsOfATrial(t *testing.T) {
	r := rig.Start(t)
	u := r.Person(t, "determined", "")
	det := func(env []string, program string) func(config, dir, publish string) {
		return func(config, dir, publish string) {
			background(t, append(env, "DET_MASTER="+r.MasterURL), program, "experiment", "create", config, dir, "--publish", publish, "--follow-first-trial")
		}
	}
	for name, create := range map[string]func(config, dir, publish string){
		"ours":   det([]string{"DET_USER=determined", "DET_PASS=", "HOME=" + t.TempDir()}, filepath.Join(r.Bin, "det")),
		"theirs": det([]string{"HOME=" + u.Home, "PYTHONUNBUFFERED=1"}, u.Client()),
	} {
		pages, lines, local := freePort(t), freePort(t), freePort(t)
		dir := t.TempDir()
		rig.Write(t, dir, "serve.py", portsProgram)
		config := rig.Write(t, t.TempDir(), "trial.yaml", fmt.Sprintf("name: ports-%s\nentrypoint: [python3, serve.py, '%d', '%d']\nresources: {slots_per_trial: 0}\n"+
			"searcher: {name: single, metric: loss, max_length: {batches: 1}}\nmax_restarts: 0\nenvironment:\n  proxy_ports:\n  - {proxy_port: %d}\n  - {proxy_port: %d, proxy_tcp: true}\n", name, pages, lines, pages, lines))
		create(config, dir, fmt.Sprintf("%d:%d", local, lines))
		task := ""
		rig.Eventually(t, name+" reaches the trial", func() (bool, error) {
			got, err := says(local, "hello")
			task, _, _ = strings.Cut(got, " says hello")
			return strings.HasSuffix(got, " says hello\n"), fmt.Errorf("%q: %w", got, err)
		})
		page := fmt.Sprintf("/proxy/%s:%d/", task, pages)
		if code, body := r.Page(t, r.Client, page); code != 200 || body != "page "+page+" of "+task {
			t.Errorf("%s: the trial's page: %d %s", name, code, body)
		}
		for e, err := range client.Each(t.Context(), r.Client, v1.ListExperiments, client.Page{}, &v1.GetExperimentsRequest{Name: "ports-" + name}) {
			if err != nil {
				t.Fatal(err)
			}
			r.End(t, e.ID)
		}
	}
}
