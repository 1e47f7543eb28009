//go:build linux

package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/tunnel"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/shell/shelltest"
)

const (
	gateSecret = "the secret of this attempt"
	gateBase   = "/proxy/7.shell/"
)

func init() {
	programs["program:serve"] = serveProgram
	programs["program:dial"] = dialProgram
}

// serveProgram is a notebook: it answers on the socket that its environment names.
func serveProgram(args []string) int {
	mode, _ := strconv.ParseUint(args[0], 8, 32)
	info, err := os.Stat(filepath.Dir(os.Getenv("DET_TASK_SOCKET")))
	if err != nil || info.Mode().Perm() != os.FileMode(mode) || len(os.Getenv("DET_TASK_SOCKET")) > 90 {
		fmt.Println("socket folder:", info, err)
		return 1
	}
	ln, err := net.Listen("unix", os.Getenv("DET_TASK_SOCKET"))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("serving")
	err = http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/api/kernels"), strings.HasSuffix(r.URL.Path, "/api/terminals"):
			fmt.Fprint(w, "[]")
		case tunnel.Asked(r.Header) == "echo":
			conn, err := tunnel.Accept(w, http.Header{"Connection": {"Upgrade"}, "Upgrade": {"echo"}})
			if err == nil {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}
		default:
			fmt.Fprintf(w, "%s %s secret=%q", r.Method, r.RequestURI, r.Header.Get(v1.GatewayHeader))
		}
	}))
	fmt.Println(err)
	return 1
}

// dialProgram is ssh's way into a shell: a tunnel on its standard streams.
func dialProgram(args []string) int {
	conn, err := dialGate(args[0], args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go func() {
		_, _ = io.Copy(conn, os.Stdin)
		_ = conn.Close() // ssh has left
	}()
	_, _ = io.Copy(os.Stdout, conn)
	return 0
}

func dialGate(address, secret string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	raw, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+gateBase, nil)
	if err != nil {
		return nil, err
	}
	req.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {v1.GatewayTunnel}, v1.GatewayHeader: {secret}}
	conn, resp, err := tunnel.Dial(ctx, raw, req)
	if err == nil && conn == nil {
		err = fmt.Errorf("the gateway answered %s", resp.Status)
	}
	return conn, err
}

// freePort returns a port on which no process listens at the moment.
func freePort(t testing.TB) int {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port
}

// ask asks the gateway for a path, with a secret or without.
func ask(t testing.TB, address, path, secret string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if secret != "" {
		req.Header.Set(v1.GatewayHeader, secret)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// withGateway starts a runner whose task has a gateway.
func withGateway(t testing.TB, spec v1.TaskSpec) (r *rig, p *proc, address string) {
	t.Helper()
	r = newRig(t, spec)
	port := freePort(t)
	r.env = append(r.env, fmt.Sprintf("NOMAD_PORT_runner=%d", port), fmt.Sprintf("NOMAD_HOST_PORT_runner=%d", port))
	return r, r.start("run"), fmt.Sprintf("127.0.0.1:%d", port)
}

// reported reports whether the runner has made a call to the master.
func (r *rig) reported(method, path string) bool {
	for _, s := range r.state.Seen() {
		if s.Method == method && s.Path == path {
			return true
		}
	}
	return false
}

func TestVisitorsOfAProgram(t *testing.T) {
	spec := sh("")
	spec.Gateway = &v1.Gateway{Kind: v1.GatewayOfHTTP, Secret: gateSecret, BasePath: gateBase, ReadyPath: gateBase + "api"}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	spec.Shell, spec.Entrypoint = false, []string{self, "program:serve", "700"}
	r, p, address := withGateway(t, spec)
	eventually(t, "the program is reported ready", func() bool { return r.reported("POST", "/api/v1/allocations/7.trial.1/ready") })

	if status, body := ask(t, address, "/health", ""); status != 200 || !strings.Contains(body, "running") {
		t.Errorf("health: %d %s", status, body)
	}
	for _, c := range []struct{ path, secret string }{
		{gateBase, ""}, {gateBase, "another"}, {gateBase, gateSecret + "x"}, {gateBase, gateSecret[1:]}, {"/", ""}, {"/healthy", ""}, {"/health/", ""},
	} {
		if status, body := ask(t, address, c.path, c.secret); status != 403 || body != "closed\n" {
			t.Errorf("%s with %q: %d %q", c.path, c.secret, status, body)
		}
	}
	status, body := ask(t, address, gateBase+"lab/a%2Fb//c?x=1;y=%20", gateSecret)
	if want := "GET " + gateBase + `lab/a%2Fb//c?x=1;y=%20 secret=""`; status != 200 || body != want {
		t.Errorf("%d %q, want %q", status, body, want)
	}
	if status, _ := ask(t, address, "/proxy/8.other/", gateSecret); status != 404 {
		t.Errorf("another task's path: %d", status)
	}

	conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true}) // which is looked at here
	if err != nil {
		t.Fatal(err)
	}
	shown := sha256.Sum256(conn.ConnectionState().PeerCertificates[0].Raw)
	if claims := r.state.Claims(); len(claims) != 1 || claims[0].Certificate != hex.EncodeToString(shown[:]) {
		t.Errorf("the gateway shows %x, the claim has %v", shown, claims)
	}
	req, err := http.NewRequest(http.MethodGet, "http://"+address+gateBase+"ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Connection": {"keep-alive, Upgrade"}, "Upgrade": {"echo"}, v1.GatewayHeader: {gateSecret}}
	both, _, err := tunnel.Dial(t.Context(), conn, req)
	if err != nil || both == nil {
		t.Fatal(err)
	}
	defer both.Close()
	if _, err := io.WriteString(both, "ping\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(both).ReadString('\n'); line != "ping\n" {
		t.Fatalf("%q %v", line, err)
	}
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.wait()
	if _, err := both.Read(make([]byte, 1)); err == nil {
		t.Error("a tunnel outlives its task")
	}
}

// TestATakenPort: a runner whose port is in use still reports its certificate, because masters would
// otherwise trust the program that has the port.
func TestATakenPort(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	port := ln.Addr().(*net.TCPAddr).Port
	r := newRig(t, sh("true"))
	r.env = append(r.env, fmt.Sprintf("NOMAD_PORT_runner=%d", port), fmt.Sprintf("NOMAD_HOST_PORT_runner=%d", port), "NOMAD_IP_runner=127.0.0.1")
	r.start("run").wait()
	if claims := r.state.Claims(); len(claims) != 1 || len(claims[0].Certificate) != 64 {
		t.Errorf("the claims are %v", claims)
	}
}

func TestAnUnusedTaskSaysSo(t *testing.T) {
	spec := sh("")
	spec.Gateway = &v1.Gateway{Kind: v1.GatewayOfHTTP, Secret: gateSecret, BasePath: gateBase,
		Idle: v1.GatewayIdle{TimeoutSecs: 1, By: v1.IdleByKernelsOrTerminals}}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	spec.Shell, spec.Entrypoint = false, []string{self, "program:serve", "700"}
	r, _, _ := withGateway(t, spec)
	eventually(t, "the task is reported idle", func() bool { return r.reported("PUT", "/api/v1/notebooks/7.trial/report_idle") })
	for _, s := range r.state.Seen() {
		if s.Method == "PUT" && !strings.Contains(s.Body, `"idle":true`) {
			t.Errorf("%+v", s)
		}
	}
}

// A login is a shell with the real ssh's options to get into it.
type login struct {
	*rig
	p       *proc
	address string
	options []string
}

func shellTask(t testing.TB) *login {
	t.Helper()
	if _, err := exec.LookPath("ssh"); err != nil {
		t.Skip("needs OpenSSH's client")
	}
	private, public := shelltest.KeyPair(t)
	hostPrivate, hostPublic := shelltest.KeyPair(t)
	spec := sh("")
	spec.TaskType, spec.Shell, spec.Entrypoint = "SHELL", false, nil
	spec.Env["DET_OWN"] = "the task's own"
	spec.Gateway = &v1.Gateway{Kind: v1.GatewayOfSSH, Secret: gateSecret, BasePath: gateBase,
		SSH: &v1.GatewaySSH{AuthorizedKey: public, HostKey: hostPrivate}}
	l := &login{}
	l.rig, l.p, l.address = withGateway(t, spec)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	key, known := l.path("key"), l.path("known_hosts")
	if err := os.WriteFile(key, []byte(private), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(known, []byte("the-shell "+hostPublic), 0o600); err != nil {
		t.Fatal(err)
	}
	l.options = []string{"-F", "none", "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes", "-o", "IdentityFile=" + key,
		"-o", "UserKnownHostsFile=" + known, "-o", "StrictHostKeyChecking=yes", "-o", "LogLevel=ERROR",
		"-o", fmt.Sprintf("ProxyCommand=%s program:dial %s '%s'", self, l.address, gateSecret)}
	eventually(t, "the shell is reported ready", func() bool { return l.reported("POST", "/api/v1/allocations/7.trial.1/ready") })
	return l
}

// client runs one of OpenSSH's programs.
func (l *login) client(stdin, name string, args ...string) (stdout, stderr string, code int) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, append(append([]string{}, l.options...), args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.WaitDelay = time.Second // what it started may outlive it, with its pipes
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if ctx.Err() != nil {
		l.t.Fatalf("%s %q did not end: %s", name, args, errs.String())
	}
	if cmd.ProcessState == nil {
		l.t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func TestShellByTheRealSSH(t *testing.T) {
	l := shellTask(t)
	for _, c := range []struct {
		name, stdin  string
		args         []string
		out, errs    string
		code         int
		outputHasAll []string
	}{
		{name: "a command", args: []string{"anybody@the-shell", "echo out; echo err >&2; exit 7"}, out: "out\n", errs: "err\n", code: 7},
		{name: "the task's environment", args: []string{"the-shell", `echo "$DET_OWN $DET_TASK_ID $DET_MASTER" | sed 's/:[0-9]*$//'; pwd`},
			out: "the task's own 7.trial http://127.0.0.1\n/run/determined/workdir\n"},
		{name: "stdin", stdin: "one\ntwo\n", args: []string{"the-shell", "wc -l"}, out: "2\n"},
		{name: "the client's environment", args: []string{"-o", "SetEnv=LC_MINE=x", "the-shell", "echo $LC_MINE"}, out: "x\n"},
		{name: "a shell without a terminal", stdin: "echo $((6*7)); exit 3\n", args: []string{"the-shell"}, out: "42\n", code: 3},
		{name: "a terminal", args: []string{"-tt", "the-shell", "tty; stty size; echo $TERM"}, outputHasAll: []string{"/dev/pts/"}},
		{name: "a signal", args: []string{"the-shell", "kill -TERM $$"}, code: 255},
		{name: "much output", args: []string{"the-shell", "head -c 5000000 /dev/zero | tr '\\0' x | wc -c; head -c 3000000 /dev/zero | wc -c"}, out: "5000000\n3000000\n"},
		{name: "what it leaves behind does not hold it", args: []string{"the-shell", "sleep 1000 & echo on"}, out: "on\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "the task's environment" && os.Geteuid() != 0 {
				c.out = strings.Replace(c.out, "/run/determined/workdir\n", "", 1)
			}
			out, errs, code := l.client(c.stdin, "ssh", c.args...)
			if code != c.code || errs != c.errs && c.code != 255 || c.outputHasAll == nil && !strings.HasPrefix(out, c.out) {
				t.Errorf("exit %d, out %q, err %q; want %d %q %q", code, out, errs, c.code, c.out, c.errs)
			}
			for _, part := range c.outputHasAll {
				if !strings.Contains(out, part) {
					t.Errorf("%q is not in %q", part, out)
				}
			}
		})
	}
}

func TestFilesByTheRealSCPAndSFTP(t *testing.T) {
	l := shellTask(t)
	big := make([]byte, 3<<20)
	if _, err := rand.Read(big); err != nil {
		t.Fatal(err)
	}
	here, back := l.path("big"), l.path("back")
	if err := os.WriteFile(here, big, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := l.client("", "scp", "-s", "-p", here, "the-shell:copied"); code != 0 {
		t.Fatalf("scp there: %d %s", code, errs)
	}
	if _, errs, code := l.client("", "scp", "-s", "the-shell:copied", back); code != 0 {
		t.Fatalf("scp back: %d %s", code, errs)
	}
	if got, err := os.ReadFile(back); err != nil || string(got) != string(big) {
		t.Fatalf("the copied file differs: %v", err)
	}
	out, _, code := l.client("", "ssh", "the-shell", "stat -c '%a %s' copied")
	if code != 0 || out != fmt.Sprintf("640 %d\n", len(big)) {
		t.Errorf("%d %q", code, out)
	}
	out, errs, code := l.client("mkdir d\nrename copied d/moved\nls -1 d\n", "sftp", "-b", "-", "the-shell")
	if code != 0 || !strings.Contains(out, "d/moved") {
		t.Errorf("sftp: %d %q %q", code, out, errs)
	}
}

func TestForwardingByTheRealSSH(t *testing.T) {
	l := shellTask(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				all, _ := io.ReadAll(conn) // until the client's half ends
				fmt.Fprintf(conn, "%d bytes", len(all))
			}()
		}
	}()
	out, errs, code := l.client("0123456789", "ssh", "-W", ln.Addr().String(), "the-shell")
	if code != 0 || out != "10 bytes" {
		t.Fatalf("%d %q %q", code, out, errs)
	}
}

func TestNobodyElseGetsAShell(t *testing.T) {
	l := shellTask(t)
	private, _ := shelltest.KeyPair(t)
	other := l.path("other")
	if err := os.WriteFile(other, []byte(private), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, o := range l.options {
		if strings.HasPrefix(o, "IdentityFile=") {
			l.options[i] = "IdentityFile=" + other
		}
	}
	if out, errs, code := l.client("", "ssh", "the-shell", "echo in"); code != 255 || out != "" || !strings.Contains(errs, "Permission denied") {
		t.Fatalf("another key: %d %q %q", code, out, errs)
	}
	if _, err := dialGate(l.address, "no secret"); err == nil || !strings.Contains(err.Error(), "403") {
		t.Fatalf("a tunnel without the secret: %v", err)
	}
	left, err := filepath.Glob(l.path("main/local/det/run/shell.json"))
	if err != nil || len(left) != 0 {
		t.Fatalf("the keys still lie in %v (%v)", left, err)
	}
}

func TestTheEndOfAShell(t *testing.T) {
	l := shellTask(t)
	began := time.Now()
	session := exec.CommandContext(t.Context(), "ssh", append(append([]string{}, l.options...), "-tt", "the-shell", "echo ready; exec sleep 1000")...)
	out, err := session.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := session.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); strings.TrimSpace(line) != "ready" {
		t.Fatalf("%q %v", line, err)
	}
	l.state.End("it was killed")
	l.p.wait()
	if err := session.Wait(); err == nil {
		t.Error("ssh ended well although its shell was killed")
	}
	t.Logf("ended after %s", time.Since(began))
	eventually(t, "the exit is reported", func() bool { return len(l.state.Exits()) == 1 })
}
