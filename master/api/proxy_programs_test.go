package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/detent-ml/detent/nomad/servers/pgtest"
	"github.com/gorilla/websocket"
)

// taskAddress is what a user receives for programs.
func (v *proxyRig) taskAddress(who as, id string) (address, token string) {
	v.t.Helper()
	var got struct{ URL, Token string }
	who.post("/api/v1/detent/tasks/"+id+"/address", "").ok().into(&got)
	if got.URL != "http://127.0.0.1:8080/proxy/"+id+"/?token="+got.Token || !strings.HasPrefix(got.Token, "det.") {
		v.t.Fatalf("the address is %q, with the token %q", got.URL, got.Token)
	}
	return got.URL, got.Token
}

// TestAnEditorUsesANotebook: a program uses a notebook with a token in a header or in the address, and the
// notebook sees neither.
func TestAnEditorUsesANotebook(t *testing.T) {
	v := newProxyRig(t)
	p, other := v.open("determined", "notebooks"), v.open("determined", "notebooks")
	_, token := v.taskAddress(v.user("determined"), p.id)
	editor, at := v.browser(""), v.url+"/proxy/"+p.id+"/api/kernels"
	for _, how := range []string{"token ", "Token ", "Bearer "} {
		a := editor.ask("POST", at+"?a=1", map[string]string{"Authorization": how + token, "Origin": "vscode-webview://x"}, "{}").ok()
		if want := "program of " + p.id + ": POST /proxy/" + p.id + "/api/kernels?a=1"; string(a.body) != want {
			t.Fatalf("%s, want %s", a.body, want)
		}
		seen := p.lastSeen()
		for _, field := range []string{"Authorization", "Origin"} {
			if got := seen.Header.Values(field); len(got) != 0 {
				t.Errorf("the notebook sees %s: %q", field, got)
			}
		}
		if c, err := seen.Cookie("_xsrf"); err != nil || c.Value != seen.Header.Get("X-Xsrftoken") || len(seen.Cookies()) != 1 {
			t.Errorf("Jupyter would reject the request: %v", seen.Header)
		}
	}
	if a := editor.ask("GET", at+"?token="+token+"&b=%2F&%74oken=det%2Ex", map[string]string{"Authorization": "token " + token, "Accept": "text/html"}, "").ok(); string(a.body) != "program of "+p.id+": GET /proxy/"+p.id+"/api/kernels?b=%2F" {
		t.Errorf("with tokens in the address too: %s", a.body)
	}
	// What any page can make a browser send does not use the notebook at the master's origin.
	for what, header := range map[string]map[string]string{
		"a script":                  {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"},
		"a script, over plain HTTP": {},
	} {
		if a := editor.ask("GET", at+"?token="+token, header, ""); a.code != 401 {
			t.Errorf("%s: %d %s", what, a.code, a.body)
		}
	}
	if a := editor.ask("POST", at+"?token="+token, map[string]string{"Sec-Fetch-Mode": "navigate", "Content-Type": "application/x-www-form-urlencoded"}, "a=b"); a.code != 401 {
		t.Errorf("a form: %d %s", a.code, a.body)
	}
	if a := editor.ask("GET", at+"?token=theirs", map[string]string{"Authorization": "token " + token}, "").ok(); !strings.HasSuffix(string(a.body), "?token=theirs") {
		t.Errorf("a parameter of the program's own: %s", a.body)
	}
	for what, header := range map[string]map[string]string{
		"a port of the task":     {"Authorization": "token " + token},
		"another task":           {"Authorization": "token " + token},
		"a wrong token":          {"Authorization": "token det.wrong"},
		"a scheme of no meaning": {"Authorization": "Basic " + token},
	} {
		to := at
		if what == "a port of the task" {
			to = v.url + "/proxy/" + p.id + ":8265/"
		}
		if what == "another task" {
			to = v.url + "/proxy/" + other.id + "/api/kernels"
		}
		if a := editor.ask("GET", to, header, ""); a.code != 401 {
			t.Errorf("%s: %d %s", what, a.code, a.body)
		}
	}
	// The token is of no use at the API.
	for _, how := range []string{"token ", "Bearer "} {
		editor.ask("GET", v.url+"/api/v1/me", map[string]string{"Authorization": how + token}, "").is(401)
	}
	ws, resp, err := websocket.DefaultDialer.Dial(strings.Replace(v.url, "http", "ws", 1)+"/proxy/"+p.id+"/ws?token="+token, http.Header{"Origin": {"http://editor.example"}})
	if err != nil {
		t.Fatalf("a WebSocket: %v %v", err, resp)
	}
	ws.Close()
}

// TestTheAddressOfAnEditorInABrowser: a browser is sent to the address without the token, and needs a session.
func TestTheAddressOfAnEditorInABrowser(t *testing.T) {
	v := newProxyRig(t)
	p := v.open("determined", "notebooks")
	who := v.user("determined")
	_, token := v.taskAddress(who, p.id)
	at := v.url + "/proxy/" + p.id + "/"
	b := v.browser("")
	if to := b.redirect(at + "?token=" + token + "&x=1"); to != "/proxy/"+p.id+"/?x=1" {
		t.Errorf("the browser is sent to %s", to)
	}
	b.goTo(at + "?token=" + token).is(401)
	if a := v.browser("determined").goTo(at + "?token=" + token).ok(); strings.Contains(string(a.body), "token") {
		t.Errorf("the notebook sees the token: %s", a.body)
	}
	b.ask("GET", v.tasks+"/proxy/"+p.id+"/?token="+token, nil, "").is(401)

	// The token ends with the session that requested it.
	editor := map[string]string{"Authorization": "token " + token}
	b.ask("GET", at, editor, "").ok()
	who.post("/api/v1/auth/logout", "").ok()
	eventually(t, func() bool { return b.ask("GET", at, editor, "").code == 401 })
}

// TestWhoGetsAnAddressForPrograms: who may open the task, if it has pages.
func TestWhoGetsAnAddressForPrograms(t *testing.T) {
	pgtest.Alone(t)
	v := newProxyRig(t)
	p := v.open("determined", "notebooks")
	v.taskAddress(v.user("admin"), p.id)
	v.anyone().post("/api/v1/detent/tasks/"+p.id+"/address", "").is(401)
	v.user("determined").post("/api/v1/detent/tasks/no-such-task/address", "").is(404)
	shell := v.openShell("determined")
	if a := v.user("determined").post("/api/v1/detent/tasks/"+shell.id+"/address", ""); a.code != 400 {
		t.Errorf("a shell: %d %s", a.code, a.body)
	}
	command := v.make("determined", "commands")
	if a := v.user("determined").post("/api/v1/detent/tasks/"+command.id+"/address", ""); a.code != 400 || !strings.Contains(string(a.body), "only notebooks") {
		t.Errorf("a command: %d %s", a.code, a.body)
	}
}
