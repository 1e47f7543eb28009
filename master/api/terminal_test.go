//go:build linux

package api

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/tasks"
	"github.com/detent-ml/detent/nomad/servers/pgtest"
	"github.com/detent-ml/detent/plugins/runner/gateway"
	"github.com/detent-ml/detent/plugins/runner/shell"
)

// openShell makes a shell with the runner's own SSH server behind its gateway.
func (v *proxyRig) openShell(user string) *proxiedTask {
	v.t.Helper()
	p := v.make(user, "shells")
	p.start()
	v.t.Setenv("HOME", v.t.TempDir()) // shells read no files of the account of the tests
	v.t.Setenv("HISTFILE", os.DevNull)
	s, err := shell.New(shell.Config{AuthorizedKey: p.spec.SSH.AuthorizedKey, HostKey: p.spec.SSH.HostKey, Dir: v.t.TempDir()}, io.Discard)
	if err != nil {
		v.t.Fatal(err)
	}
	dir := v.t.TempDir()
	socket, err := gateway.MakeSocket(filepath.Join(dir, "g"), filepath.Join(dir, "g"))
	if err != nil {
		v.t.Fatal(err)
	}
	ln, err := net.Listen("unix", socket.Path)
	if err != nil {
		v.t.Fatal(err)
	}
	served := make(chan struct{})
	go func() { s.Serve(ln); close(served) }()
	v.t.Cleanup(func() { _ = ln.Close(); <-served; socket.Close() })
	p.gate.Open(p.spec, socket.Dial, p.dialPort)
	if err := attempts.MarkReady(v.t.Context(), v.db, p.id+".1"); err != nil {
		v.t.Fatal(err)
	}
	return p
}

// terminalOf opens a terminal; the status of the answer is 0 if there is none.
func (v *proxyRig) terminalOf(id string, header http.Header, jar http.CookieJar) (*websocket.Conn, int) {
	v.t.Helper()
	d := websocket.Dialer{Jar: jar, HandshakeTimeout: 20 * time.Second}
	ws, resp, err := d.DialContext(v.t.Context(), strings.Replace(v.url, "http", "ws", 1)+"/api/v1/detent/shells/"+id+"/terminal?columns=90&rows=30", header)
	status := 0
	if resp != nil {
		status = resp.StatusCode
	}
	if err != nil {
		return nil, status
	}
	v.t.Cleanup(func() { _ = ws.Close() })
	_ = ws.SetReadDeadline(time.Now().Add(time.Minute))
	return ws, status
}

// reads reads a terminal's output until a text comes, and drops what comes with it.
func reads(t *testing.T, ws *websocket.Conn, text string) {
	t.Helper()
	all := ""
	for !strings.Contains(all, text) {
		_, message, err := ws.ReadMessage()
		if err != nil {
			t.Fatalf("%q did not come, but %q: %v", text, all, err)
		}
		all += string(message)
	}
}

// endOf reads a terminal until it ends.
func endOf(t *testing.T, ws *websocket.Conn) *websocket.CloseError {
	t.Helper()
	for {
		if _, _, err := ws.ReadMessage(); err != nil {
			var closed *websocket.CloseError
			if !errors.As(err, &closed) {
				t.Fatalf("the terminal ended without a reason: %v", err)
			}
			return closed
		}
	}
}

func TestTerminalsInAPage(t *testing.T) {
	pgtest.Alone(t)
	v := newProxyRig(t)
	p := v.openShell("determined")
	b := v.browser("determined")
	own := http.Header{"Origin": {v.url}, "Sec-Fetch-Site": {"same-origin"}}
	ws, _ := v.terminalOf(p.id, own.Clone(), b.jar)
	if ws == nil {
		t.Fatal("there is no terminal")
	}
	if err := ws.WriteMessage(websocket.BinaryMessage, []byte("echo $(stty size) from-$((40+2))\n")); err != nil {
		t.Fatal(err)
	}
	reads(t, ws, "30 90 from-42")

	// Only our own pages may use the browser's session.
	for what, header := range map[string]http.Header{
		"another site":            {"Origin": {"https://evil.example"}, "Sec-Fetch-Site": {"cross-site"}},
		"a page of a task":        {"Origin": {v.tasks}, "Sec-Fetch-Site": {"same-site"}},
		"another site, old":       {"Origin": {"https://evil.example"}},
		"a page of a task, old":   {"Origin": {v.tasks}},
		"a frame without origin":  {"Origin": {"null"}},
		"a claim without a proof": {"Origin": {v.url}, "Sec-Fetch-Site": {"cross-site"}},
	} {
		if _, status := v.terminalOf(p.id, header, b.jar); status != http.StatusForbidden {
			t.Errorf("%s: %d", what, status)
		}
	}
	admin := v.user("admin")
	admin.post("/api/v1/users", `{"user":{"username":"eve","active":true}}`).ok()
	_, reader := tokened(t, v.user("determined"), `{"readOnly":true}`)
	for what, c := range map[string]struct {
		header http.Header
		want   int
	}{
		"nobody":                     {http.Header{}, http.StatusUnauthorized},
		"another user":               {http.Header{"Authorization": {v.user("eve").token}}, http.StatusForbidden},
		"a token that may only read": {http.Header{"Authorization": {reader.token}}, http.StatusForbidden},
		"the task itself":            {http.Header{"Authorization": {"Bearer " + p.token}}, http.StatusForbidden},
	} {
		if _, status := v.terminalOf(p.id, c.header, nil); status != c.want {
			t.Errorf("%s: %d, want %d", what, status, c.want)
		}
	}
	v.user("determined").get("/api/v1/detent/shells/" + p.id + "/terminal").is(http.StatusBadRequest)
	v.user("determined").get("/api/v1/detent/shells/none/terminal").is(http.StatusNotFound)

	// An admin who enters the shell of another user is in the audit trail.
	if ws, _ := v.terminalOf(p.id, http.Header{"Authorization": {admin.token}}, nil); ws == nil {
		t.Error("an admin may not enter")
	}
	if n := len(at(t, admin.get("/api/v1/detent/audit?username=admin&verb=enter").ok().tree(), "entries").([]any)); n != 1 {
		t.Errorf("%d entries of the audit trail", n)
	}

	// The end of the session ends the terminal, and the page learns why.
	b.ask("POST", v.url+"/api/v1/auth/logout", map[string]string{"Sec-Fetch-Site": "same-origin"}, "").ok()
	if end := endOf(t, ws); end.Code != 4401 {
		t.Errorf("after signing out: %v", end)
	}
}

func TestTerminalsOfShellsThatDoNotRun(t *testing.T) {
	pgtest.Alone(t)
	v := newProxyRig(t)
	header := func() http.Header { return http.Header{"Authorization": {v.user("determined").token}} }
	queued := v.make("determined", "shells")
	ws, _ := v.terminalOf(queued.id, header(), nil)
	if end := endOf(t, ws); end.Code != 4404 || end.Text != "This shell is queued." {
		t.Errorf("queued: %v", end)
	}
	p := v.openShell("determined")
	ws, _ = v.terminalOf(p.id, header(), nil)
	if err := ws.WriteMessage(websocket.BinaryMessage, []byte("echo re''ady\n")); err != nil {
		t.Fatal(err)
	}
	reads(t, ws, "ready")
	p.over()
	if end := endOf(t, ws); end.Code <= 4000 {
		t.Errorf("after the end of the task: %v", end)
	}
	v.user("determined").get("/api/v1/detent/shells/" + p.id + "/terminal").is(http.StatusBadRequest)
	ws, _ = v.terminalOf(p.id, header(), nil)
	if end := endOf(t, ws); end.Code != 4404 || end.Text != "This shell is over." {
		t.Errorf("over: %v", end)
	}
	notebook := v.make("determined", "notebooks")
	if _, status := v.terminalOf(notebook.id, header(), nil); status != http.StatusNotFound {
		t.Errorf("a notebook: %d", status)
	}
}

func TestOneUserHasABoundedNumberOfTerminals(t *testing.T) {
	pgtest.Alone(t)
	v := newProxyRig(t)
	p := v.openShell("determined")
	header := http.Header{"Authorization": {v.user("determined").token}}
	for i := range tasks.MaxTerminalsOfUser {
		if ws, status := v.terminalOf(p.id, header, nil); ws == nil {
			t.Fatalf("terminal %d: %d", i+1, status)
		}
	}
	if _, status := v.terminalOf(p.id, header, nil); status != http.StatusTooManyRequests {
		t.Errorf("one more: %d", status)
	}
	if ws, status := v.terminalOf(p.id, http.Header{"Authorization": {v.user("admin").token}}, nil); ws == nil {
		t.Errorf("another user: %d", status)
	}
}
