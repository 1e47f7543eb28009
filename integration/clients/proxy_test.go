package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// A surfer is a browser: it stores cookies, and sends headers that state which page caused a
// request.
type surfer struct {
	t   *testing.T
	r   *rig.Rig
	jar http.CookieJar
	c   *http.Client
}

func newSurfer(t *testing.T, r *rig.Rig, user string) *surfer {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &surfer{t: t, r: r, jar: jar, c: &http.Client{Jar: jar, Timeout: time.Minute, Transport: &http.Transport{DialContext: toLocalhost}}}
	if code, body := s.do("POST", r.MasterURL+"/api/v1/auth/login", fmt.Sprintf(`{"username":%q,"password":"","isHashed":true}`, user), "same-origin"); code != 200 {
		t.Fatalf("sign in: %d %s", code, body)
	}
	return s
}

// toLocalhost connects to this machine for every name below localhost, as browsers do.
func toLocalhost(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err == nil && strings.HasSuffix(host, ".localhost") {
		address = net.JoinHostPort("127.0.0.1", port)
	}
	var d net.Dialer
	return d.DialContext(ctx, network, address)
}

// tasksAt is the origin of a task's pages.
func tasksAt(r *rig.Rig, task string) string {
	if r.TasksDomain == "" {
		return r.TasksURL
	}
	return "http://" + task + "." + r.TasksDomain
}

func (s *surfer) do(method, address, body, site string, header ...string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Sec-Fetch-Site", site)
	req.Header.Set("Accept", "text/html,*/*")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := s.c.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func (s *surfer) cookie(at, name string) string {
	u, err := url.Parse(at)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, c := range s.jar.Cookies(u) {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

// TestABrowserInANotebook: it is sent to the tasks' origin, runs a cell over the
// kernel's WebSocket, gets nothing from the API from there, and is out when its
// session ends.
func TestABrowserInANotebook(t *testing.T) {
	r := rig.Start(t)
	out, err := r.Det(t, "notebook", "start", "--no-browser", "--config", "resources.slots=0", "--config", rig.WithPython(rig.PythonOf(t, "notebook")))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	id := rig.Started(t, out)
	defer func() {
		if out, err := r.Det(t, "notebook", "kill", id); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}()
	base := "/proxy/" + id
	s, tasks := newSurfer(t, r, "determined"), tasksAt(r, id)
	if code, body := s.do("GET", r.MasterURL+base+"/lab", "", "none", "Sec-Fetch-User", "?1", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"); code != 200 || !strings.Contains(body, "JupyterLab") {
		t.Fatalf("the notebook by a browser: %d %.300s", code, body)
	}
	xsrf := s.cookie(tasks+base+"/", "_xsrf")
	if xsrf == "" || s.cookie(tasks+base+"/", "det-task-"+id) == "" {
		t.Fatalf("cookies: %q", xsrf)
	}
	var kernel struct{ ID string }
	code, body := s.do("POST", tasks+base+"/api/kernels", `{}`, "same-origin", "Origin", tasks, "X-XSRFToken", xsrf)
	if err := json.Unmarshal([]byte(body), &kernel); err != nil || code != 201 {
		t.Fatalf("a kernel: %d %s", code, body)
	}
	ws := s.socket(tasks+base+"/api/kernels/"+kernel.ID+"/channels", tasks)
	defer ws.Close()
	if got := runCell(t, ws, "import os; print('DET_TASK_ID' in os.environ, 6*7)"); got != "True 42\n" {
		t.Fatalf("the cell printed %q", got)
	}

	for _, path := range []string{"/api/v1/me", "/api/v1/users"} {
		if code, body := s.do("GET", r.MasterURL+path, "", "same-site", "Origin", tasks); code != 403 {
			t.Errorf("the notebook's page may read %s: %d %s", path, code, body)
		}
		if code, body := s.do("GET", tasks+path, "", "same-origin"); code != 404 {
			t.Errorf("the tasks' origin answers %s: %d %s", path, code, body)
		}
	}
	if _, resp, err := s.try(tasks+base+"/api/kernels/"+kernel.ID+"/channels", "http://evil.example"); err == nil || resp.StatusCode != 403 {
		t.Errorf("a WebSocket from another page: %v", err)
	}
	dialDirectly(t, r, id)

	if code, body := s.do("POST", r.MasterURL+"/api/v1/auth/logout", "", "same-origin"); code != 200 {
		t.Fatalf("sign out: %d %s", code, body)
	}
	if err := ws.SetReadDeadline(time.Now().Add(rig.Patience)); err != nil {
		t.Fatal(err)
	}
	for {
		if _, _, err = ws.ReadMessage(); err != nil {
			break
		}
	}
	if netErr := net.Error(nil); errors.As(err, &netErr) && netErr.Timeout() {
		t.Error("the kernel's WebSocket outlives the session")
	}
	rig.Eventually(t, "the browser is out", func() (bool, error) {
		code, _ := s.do("GET", tasks+base+"/lab", "", "same-origin")
		return code == 401, fmt.Errorf("%d", code)
	})
}

// dialDirectly asks a task for things, without the master.
func dialDirectly(t *testing.T, r *rig.Rig, task string) {
	t.Helper()
	host, port := r.ServiceOf(t, task)
	at := fmt.Sprintf("http://%s:%d", host, port)
	for path, want := range map[string]int{"/health": 200, "/": 403, "/proxy/" + task + "/": 403, "/proxy/" + task + "/api/contents": 403} {
		resp, err := http.Get(at + path)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != want || path != "/health" && string(text) != "closed\n" {
			t.Errorf("dialled directly, %s gives %d %s", path, resp.StatusCode, text)
		}
	}
}

func (s *surfer) try(address, origin string) (*websocket.Conn, *http.Response, error) {
	d := websocket.Dialer{Jar: s.jar, HandshakeTimeout: time.Minute, NetDialContext: toLocalhost}
	return d.DialContext(s.t.Context(), strings.Replace(address, "http://", "ws://", 1), http.Header{"Origin": {origin}})
}

func (s *surfer) socket(address, origin string) *websocket.Conn {
	s.t.Helper()
	ws, resp, err := s.try(address, origin)
	if err != nil {
		s.t.Fatalf("WebSocket: %v %v", resp, err)
	}
	return ws
}

// runCell runs code in a kernel and returns what it printed.
func runCell(t *testing.T, ws *websocket.Conn, code string) string {
	t.Helper()
	type head struct {
		ID      string `json:"msg_id"`
		Type    string `json:"msg_type"`
		Session string `json:"session"`
		User    string `json:"username"`
		Version string `json:"version"`
		Date    string `json:"date"`
	}
	message := map[string]any{"header": head{"m1", "execute_request", "s1", "x", "5.3", time.Now().UTC().Format(time.RFC3339)}, "parent_header": map[string]any{},
		"metadata": map[string]any{}, "buffers": []any{}, "channel": "shell",
		"content": map[string]any{"code": code, "silent": false, "store_history": false, "user_expressions": map[string]any{}, "allow_stdin": false, "stop_on_error": true}}
	if err := ws.WriteJSON(message); err != nil {
		t.Fatal(err)
	}
	if err := ws.SetReadDeadline(time.Now().Add(rig.Patience)); err != nil {
		t.Fatal(err)
	}
	printed := ""
	for {
		var got struct {
			Header head `json:"header"`
			Parent head `json:"parent_header"`
			Body   struct {
				Text   string `json:"text"`
				State  string `json:"execution_state"`
				Value  string `json:"evalue"`
				Status string `json:"status"`
			} `json:"content"`
		}
		if err := ws.ReadJSON(&got); err != nil {
			t.Fatalf("the kernel: %v (printed %q)", err, printed)
		}
		switch {
		case got.Parent.ID != "m1":
		case got.Header.Type == "stream":
			printed += got.Body.Text
		case got.Header.Type == "error":
			t.Fatalf("the cell failed: %s", got.Body.Value)
		case got.Header.Type == "status" && got.Body.State == "idle":
			return printed
		}
	}
}

// TestATunnelToAShell is the way of ssh, without ssh: it ends with the shell.
func TestATunnelToAShell(t *testing.T) {
	r := rig.Start(t)
	made, err := client.Send(t.Context(), r.Client, v1.CreateShell, v1.LaunchShellRequest{Config: v1.Struct(`{"resources":{"slots":0}}`)})
	if err != nil {
		t.Fatal(err)
	}
	id := made.Shell.ID
	rig.Eventually(t, "the shell is ready", func() (bool, error) {
		task, err := r.Client.Task(t.Context(), id)
		return err == nil && slices.ContainsFunc(task.Allocations, func(a v1.Allocation) bool { return a.IsReady }), err
	})
	dialDirectly(t, r, id)
	if code, body := r.Page(t, r.Client, "/proxy/"+id+"/"); code != 426 || !strings.Contains(body, "det shell open") {
		t.Errorf("a shell in a browser: %d %s", code, body)
	}
	conn, err := r.Client.DialTask(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	greeting := make([]byte, len("SSH-2.0-Detent"))
	if _, err := io.ReadFull(conn, greeting); err != nil || string(greeting) != "SSH-2.0-Detent" {
		t.Fatalf("%q %v", greeting, err)
	}
	if out, err := r.Det(t, "shell", "kill", id); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ended := make(chan error, 1)
	go func() { _, err := io.Copy(io.Discard, conn); ended <- err }()
	select {
	case <-ended:
	case <-time.After(rig.Patience):
		t.Error("a tunnel outlives its shell")
	}
	r.Ends(t, "shell", id)
}
