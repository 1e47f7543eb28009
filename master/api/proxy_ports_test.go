//go:build linux

package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// withPorts is a command with pages at 8080, bytes at 9000, and pages at 7000 and bytes at 7001
// for everybody.
func (v *proxyRig) withPorts(user string) *proxiedTask {
	v.t.Helper()
	p := v.makeWith(user, "commands", `{"resources":{"slots":0},"entrypoint":["x"],"environment":{"proxy_ports":[
		{"proxy_port":8080},{"proxy_port":8082},{"proxy_port":9000,"proxy_tcp":true},
		{"proxy_port":7000,"unauthenticated":true},{"proxy_port":7001,"proxy_tcp":true,"unauthenticated":true}]}}`)
	p.start()
	pages := httptest.NewServer(p)
	v.t.Cleanup(pages.Close)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { _ = ln.Close() })
	go serveBytes(ln)
	at := pages.Listener.Addr().String()
	p.ports = map[int]string{8080: at, 7000: at, 9000: ln.Addr().String(), 7001: ln.Addr().String()}
	p.gate.Open(p.spec, nil, p.dialPort)
	return p
}

func TestPagesOfAPort(t *testing.T) {
	v := newProxyRig(t)
	v.user("admin").post("/api/v1/users", `{"user":{"username":"mallory","active":true},"password":""}`).ok()
	p := v.withPorts("determined")
	at := "/proxy/" + p.id + ":8080/"
	for _, user := range []string{"determined", "admin"} {
		if a := v.user(user).get(at + "a%20b?c=%2F").ok(); string(a.body) != "program of "+p.id+": GET "+at+"a%20b?c=%2F" || a.header.Get("Content-Security-Policy") != "sandbox" {
			t.Errorf("%s: %s %v", user, a.body, a.header)
		}
	}
	seen := p.lastSeen()
	if seen.Header.Get("X-Forwarded-Prefix") != strings.TrimSuffix(at, "/") || seen.Header.Get("Authorization") != "" || seen.Header.Get(v1.GatewayHeader) != "" {
		t.Errorf("the program sees %v", seen.Header)
	}
	ws, _, err := dialWS(t, v.url+at+"ws", http.Header{"Authorization": {v.user("determined").token}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	echo(t, ws, 100)

	for what, c := range map[string]struct {
		who  as
		path string
		code int
	}{
		"another user":                    {v.user("mallory"), at, 403},
		"nobody":                          {v.anyone(), at, 401},
		"nobody, a port that is not open": {v.anyone(), "/proxy/" + p.id + ":1/", 401},
		"nobody, no such task":            {v.anyone(), "/proxy/none:7000/", 401},
		"a port that is not declared":     {v.user("determined"), "/proxy/" + p.id + ":8081/", 404},
		"no port":                         {v.user("determined"), "/proxy/" + p.id + "/", 404},
		"another spelling":                {v.user("determined"), "/proxy/" + p.id + ":08080/", 404},
		"a path out of it":                {v.user("determined"), at + "../" + p.id + ":9000/", 400},
		"a port with bytes":               {v.user("determined"), "/proxy/" + p.id + ":9000/", 426},
	} {
		if a := c.who.get(c.path); a.code != c.code || strings.Contains(string(a.body), "program of") {
			t.Errorf("%s: %d %s", what, a.code, a.body)
		}
	}

	// The master redirects a browser to the tasks' origin, with a cookie for this port alone.
	b := v.browser("determined")
	if a := b.goTo(v.url + strings.TrimSuffix(at, "/")).ok(); string(a.body) != "program of "+p.id+": GET "+at {
		t.Errorf("a browser: %s", a.body)
	}
	if name := "det-task-" + p.id; b.cookie(v.tasks+at, name) == nil || b.cookie(v.tasks+"/proxy/"+p.id+":9000/", name) != nil || b.cookie(v.tasks+"/proxy/"+p.id+"/", name) != nil {
		t.Error("the cookie is not for the path of the port alone")
	}
	ws, _, err = dialWS(t, v.tasks+at+"ws", http.Header{"Origin": {v.tasks}}, b.jar)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	echo(t, ws, 100)
	if a := v.browser("mallory").goTo(v.url + at); a.code != 403 {
		t.Errorf("another user's browser: %d %s", a.code, a.body)
	}
	if a := v.browser("").goTo(v.tasks + at); a.code != 401 {
		t.Errorf("a browser without a session, at the tasks' origin: %d %s", a.code, a.body)
	}

	v.runs(p.id+".1", "ASSIGNED", "RUNNING")
	waitFor(t, func() bool { return v.user("determined").get("/proxy/"+p.id+":8082/").code != 404 })
	if a := v.user("determined").get("/proxy/" + p.id + ":8082/"); a.code != 502 || !strings.Contains(string(a.body), "port 8082") {
		t.Errorf("a port without a listener: %d %s", a.code, a.body)
	}
}

func TestBytesOfAPort(t *testing.T) {
	v := newProxyRig(t)
	v.user("admin").post("/api/v1/users", `{"user":{"username":"mallory","active":true},"password":""}`).ok()
	p := v.withPorts("determined")
	at := v.url + "/proxy/" + p.id + ":9000/"
	owner := v.user("determined")
	signedIn := http.Header{"Authorization": {owner.token}}
	ws, _, err := dialWS(t, at, signedIn, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	echo(t, ws, 1000)

	b := v.browser("determined")
	for what, c := range map[string]struct {
		at     string
		header http.Header
		jar    http.CookieJar
		code   int
	}{
		"nobody":                 {at, http.Header{}, nil, 401},
		"another user":           {at, http.Header{"Authorization": {v.user("mallory").token}}, nil, 403},
		"a browser's cookie":     {at, http.Header{}, b.jar, 403},
		"a page elsewhere":       {at, http.Header{"Authorization": signedIn["Authorization"], "Origin": {"http://evil.example"}}, nil, 403},
		"a port not declared":    {v.url + "/proxy/" + p.id + ":9001/", signedIn, nil, 404},
		"an open one, elsewhere": {v.url + "/proxy/" + p.id + ":7001/", http.Header{"Origin": {"http://evil.example"}}, nil, 403},
	} {
		if ws, resp, err := dialWS(t, c.at, c.header, c.jar); err == nil || resp == nil || resp.StatusCode != c.code {
			if ws != nil {
				_ = ws.Close()
			}
			t.Errorf("%s: %v %v", what, resp, err)
		}
	}
	open, _, err := dialWS(t, v.url+"/proxy/"+p.id+":7001/", http.Header{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	echo(t, open, 1000)

	// det's tunnel: bytes to a port of either kind, one direction closed after the other.
	c, err := client.New(client.Options{Master: v.url, Token: strings.TrimPrefix(v.user("determined").token, "Bearer ")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, err := c.DialPort(ctx, p.id, 9000)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const size = 1 << 20
	go func() {
		_, _ = io.Copy(conn, io.LimitReader(zeros{}, size))
		_ = conn.(interface{ CloseWrite() error }).CloseWrite()
	}()
	if all, err := io.ReadAll(conn); err != nil || len(all) != size+len(fmt.Sprintf("|%d", size)) {
		t.Fatalf("%d bytes came back: %v", len(all), err)
	}
	pages, err := c.DialPort(ctx, p.id, 8080)
	if err != nil {
		t.Fatal(err)
	}
	defer pages.Close()
	if _, err := io.WriteString(pages, "GET /plain HTTP/1.0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if all, err := io.ReadAll(pages); err != nil || !strings.HasSuffix(string(all), "GET /plain") {
		t.Fatalf("the program behind a tunnel: %q %v", all, err)
	}
	if _, err := c.DialPort(ctx, p.id, 1); !fault.Is(err, fault.NotFound) {
		t.Errorf("a port that is not declared: %v", err)
	}

	// The session's end is the tunnel's.
	owner.post("/api/v1/auth/logout", "").ok()
	if err := ws.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	_, _, err = ws.ReadMessage()
	if late := net.Error(nil); err == nil || errors.As(err, &late) && late.Timeout() {
		t.Errorf("the tunnel of an ended session is still open: %v", err)
	}
	echo(t, open, 10)
}

func TestPortsForEverybody(t *testing.T) {
	v := newProxyRig(t)
	p := v.withPorts("determined")
	at := "/proxy/" + p.id + ":7000/"
	want := "program of " + p.id + ": GET " + at
	if a := v.anyone().get(at).ok(); string(a.body) != want || a.header.Get("Content-Security-Policy") != "sandbox" {
		t.Errorf("a program: %s %v", a.body, a.header)
	}
	for what, b := range map[string]*guest{"nobody's browser": v.browser(""), "the owner's browser": v.browser("determined")} {
		if to := b.redirect(v.url + at + "x?y=1"); to != v.tasks+at+"x?y=1" {
			t.Errorf("%s is sent to %s", what, to)
		}
		if a := b.goTo(v.tasks + at).ok(); string(a.body) != want {
			t.Errorf("%s: %s", what, a.body)
		}
	}
	page := map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty", "Origin": "http://evil.example"}
	for what, b := range map[string]*guest{"with a cookie": v.browser("determined"), "without": v.browser("")} {
		if a := b.ask("POST", v.url+at, page, ""); a.code != 403 {
			t.Errorf("a script of another page, at the API's origin, %s: %d %s", what, a.code, a.body)
		}
	}
	v.user("admin").patch("/api/v1/users/2", `{"active":false}`).ok()
	ends := time.Now().Add(30 * time.Second)
	for v.anyone().get(at).code != 403 || v.browser("").goTo(v.tasks+at).code != 403 {
		if time.Now().After(ends) {
			t.Fatal("the port of a deactivated user stays open")
		}
	}
	if a := v.user("admin").get(at).ok(); string(a.body) != want {
		t.Errorf("an admin: %s", a.body)
	}
}

// TestTheDefaultPort: a path without a port leads to the default port.
func TestTheDefaultPort(t *testing.T) {
	v := newProxyRig(t)
	p := v.makeWith("determined", "commands", `{"resources":{"slots":0},"entrypoint":["x"],"environment":{"proxy_ports":[{"proxy_port":8080,"default_service_id":true}]}}`)
	p.start()
	pages := httptest.NewServer(p)
	defer pages.Close()
	p.ports = map[int]string{8080: pages.Listener.Addr().String()}
	p.gate.Open(p.spec, nil, p.dialPort)
	for _, path := range []string{"/proxy/" + p.id + "/x", "/proxy/" + p.id + ":8080/x"} {
		if a := v.user("determined").get(path).ok(); string(a.body) != "program of "+p.id+": GET "+path {
			t.Errorf("%s", a.body)
		}
	}
	var got map[string]any
	v.user("determined").get("/api/v1/tasks").ok().into(&got)
	if id := at(t, got, "allocationIdToSummary").(map[string]any)[p.id+".1"].(map[string]any)["proxyPorts"].([]any)[0].(map[string]any); id["serviceId"] != p.id+":8080" || id["port"] != 8080.0 {
		t.Errorf("the port in the list of tasks is %v", id)
	}
}
