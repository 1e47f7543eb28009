//go:build linux

package api

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/proxy"
	"github.com/detent-ml/detent/master/proxy/grant"
	"github.com/detent-ml/detent/master/proxy/headers"
	v1 "github.com/detent-ml/detent/master/v1"
)

// An ingressRig is a proxyRig with an ingress that asks the master about each request, and
// forwards it to the task's gateway itself.
type ingressRig struct {
	*proxyRig
	ln net.Listener
}

func newIngressRig(t *testing.T) *ingressRig {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	v := &ingressRig{ln: ln}
	v.proxyRig = newProxyRig(t, func(o *proxy.Origins) { o.URL, o.Domain = "", "localhost:"+port })
	return v
}

// serve forwards the requests for a task's host.
func (v *ingressRig) serve(p *proxiedTask) {
	to := &httputil.ReverseProxy{
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL.Scheme, pr.Out.URL.Host, pr.Out.Host = "https", p.gate.Address(), pr.In.Host
			pr.SetXForwarded()
		},
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, //nolint:gosec // as an ingress must
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := v.asks(r.Context(), r.Method, r.Host, r.URL.RequestURI(), r.Header)
		if answer.code != http.StatusOK {
			for field, values := range answer.header {
				w.Header()[field] = values
			}
			w.Header().Del("Content-Length")
			w.WriteHeader(answer.code)
			_, _ = w.Write(answer.body)
			return
		}
		for _, field := range headers.Names() {
			r.Header.Del(field)
			for _, value := range answer.header.Values(field) {
				r.Header.Add(field, value)
			}
		}
		to.ServeHTTP(w, r)
	})}
	go func() { _ = server.Serve(v.ln) }()
	v.t.Cleanup(func() { _ = server.Close() })
}

// asks returns the master's answer to an ingress about a request.
func (v *ingressRig) asks(ctx context.Context, method, host, uri string, header http.Header) answer {
	v.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.url+proxy.IngressPath, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	for field, values := range header {
		if field != "Connection" && field != "Upgrade" && field != "Accept-Encoding" {
			req.Header[field] = values
		}
	}
	req.Header.Set("X-Forwarded-Method", method)
	req.Header.Set("X-Forwarded-Host", host)
	req.Header.Set("X-Forwarded-Uri", uri)
	once := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := once.Do(req)
	if err != nil {
		v.t.Error(err)
		return answer{code: http.StatusBadGateway}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		v.t.Error(err)
	}
	return answer{t: v.t, what: "the ingress asks", code: resp.StatusCode, header: resp.Header, body: body}
}

// guest is a signed-in browser, to which every name below localhost is this machine.
func (v *ingressRig) guest(user string) *guest {
	b := v.browser(user)
	b.c.Transport = &http.Transport{DialContext: toLocalhost}
	return b
}

func toLocalhost(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err == nil && strings.HasSuffix(host, ".localhost") {
		address = net.JoinHostPort("127.0.0.1", port)
	}
	var d net.Dialer
	return d.DialContext(ctx, network, address)
}

// TestAnIngress: a browser reaches a notebook through an ingress, with the master asked about each
// request. The program sees none of our cookies and headers, and cannot set cookies for others.
// The connections end with the session.
func TestAnIngress(t *testing.T) {
	v := newIngressRig(t)
	p := v.open("determined", "notebooks")
	v.serve(p)
	b := v.guest("determined")
	origin := "http://" + p.id + ".localhost:" + v.ln.Addr().String()[strings.LastIndex(v.ln.Addr().String(), ":")+1:]
	base := "/proxy/" + p.id
	if a := b.goTo(v.url + base + "/lab?x=1"); a.code != 200 || !strings.Contains(string(a.body), "program of "+p.id+": GET "+base+"/lab?x=1") {
		t.Fatalf("%d %s", a.code, a.body)
	}
	if a := b.ask("POST", origin+base+"/api", map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": origin, "Cookie": "own=1; auth=stolen", "Authorization": "Bearer stolen",
		"X-Forwarded-Proto": "gopher", "X-Forwarded-Prefix": "/lies", "X-Detent-Gateway": "lies"}, "a body"); a.code != 200 || strings.Join(p.bodies()[1:], "") != "a body" {
		t.Fatalf("%d %s %q", a.code, a.body, p.bodies())
	} else if a.header.Get(v1.GatewayHeader) != "" || !strings.Contains(a.header.Get("Content-Security-Policy"), "frame-ancestors 'self' http://127.0.0.1:8080") {
		t.Errorf("headers of the answer: %v", a.header)
	}
	seen := p.lastSeen().Header
	for field, want := range map[string]string{"Cookie": "own=1", "Authorization": "", v1.GatewayHeader: "", "X-Forwarded-Proto": "http", "X-Forwarded-Prefix": base,
		"X-Forwarded-Host": strings.TrimPrefix(origin, "http://"), "X-Forwarded-For": "127.0.0.1"} {
		if got := seen.Get(field); got != want {
			t.Errorf("the program sees %s: %q, want %q", field, got, want)
		}
	}
	if a := b.ask("GET", origin+base+"/cookies", map[string]string{"Sec-Fetch-Site": "same-origin"}, ""); a.header.Get("Clear-Site-Data") != "" {
		t.Errorf("headers of the answer: %v", a.header)
	} else if set := strings.Join(a.header.Values("Set-Cookie"), "\n"); strings.Contains(set, "auth=") || strings.Contains(set, "det-task") || strings.Contains(set, "Domain") || !strings.Contains(set, "mine=1; Path="+base+"/") {
		t.Errorf("cookies of the program:\n%s", set)
	}

	for what, header := range map[string]map[string]string{
		"another page's frame": {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
		"another page's form":  {"Sec-Fetch-Site": "cross-site", "Origin": "http://evil.example"},
	} {
		if a := b.ask("POST", origin+base+"/api", header, ""); a.code != 403 {
			t.Errorf("%s: %d %s", what, a.code, a.body)
		}
	}
	if a := v.guest("admin").goTo(origin + base + "/lab"); a.code != 401 {
		t.Errorf("somebody without the task's cookie: %d %s", a.code, a.body)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go p.gate.Visitors(ctx, func(ctx context.Context, visitors []string) ([]string, error) {
		return v.proxy.Gone(ctx, p.id, p.id+".1", visitors)
	})
	dialer := websocket.Dialer{Jar: b.jar, NetDialContext: toLocalhost}
	socket := strings.Replace(origin, "http://", "ws://", 1) + base + "/socket"
	if _, resp, err := dialer.DialContext(t.Context(), socket, http.Header{"Origin": {"http://evil.example"}}); err == nil || resp == nil || resp.StatusCode != 403 {
		t.Errorf("another page's WebSocket: %v", err)
	}
	if _, resp, err := dialer.DialContext(t.Context(), socket, nil); err == nil || resp == nil || resp.StatusCode != 403 {
		t.Errorf("a WebSocket of no page: %v", err)
	}
	ws, _, err := dialer.DialContext(t.Context(), socket, http.Header{"Origin": {origin}})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	said := make(chan error, 1)
	if err := ws.WriteMessage(websocket.TextMessage, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, got, err := ws.ReadMessage(); err != nil || string(got) != "hello" {
		t.Fatalf("%q %v", got, err)
	}
	go func() { _, _, err := ws.ReadMessage(); said <- err }()
	select {
	case err := <-said:
		t.Fatalf("the WebSocket of a valid session ends: %v", err)
	case <-time.After(4 * time.Second): // the gateway has asked about the visitor once
	}
	b.ask("POST", v.url+"/api/v1/auth/logout", map[string]string{"Sec-Fetch-Site": "same-origin"}, "").is(200)
	select {
	case <-said:
	case <-time.After(time.Minute):
		t.Error("the WebSocket outlives the session")
	}
	if a := b.goTo(origin + base + "/lab"); a.code != 401 {
		t.Errorf("after the sign-out: %d %s", a.code, a.body)
	}
}

// TestWhatTheMasterAnswersAnIngress: the answer has no secret, and a grant opens only the request
// that the ingress asked about.
func TestWhatTheMasterAnswersAnIngress(t *testing.T) {
	v := newIngressRig(t)
	p, late := v.open("determined", "notebooks"), v.make("determined", "notebooks")
	v.serve(p)
	late.start()
	b := v.guest("determined")
	host := func(p *proxiedTask) string {
		return p.id + ".localhost:" + v.ln.Addr().String()[strings.LastIndex(v.ln.Addr().String(), ":")+1:]
	}
	cookie := func(p *proxiedTask) string {
		to, err := url.Parse(b.redirect(v.url + "/proxy/" + p.id + "/"))
		if err != nil {
			t.Fatal(err)
		}
		a := v.asks(t.Context(), "GET", to.Host, to.RequestURI(), nil)
		if a.code != http.StatusSeeOther || a.header.Get("Location") != "http://"+host(p)+"/proxy/"+p.id+"/" || a.header.Get(v1.GatewayHeader) != "" {
			t.Fatalf("the ticket: %d %v", a.code, a.header)
		}
		return strings.Split(a.header.Get("Set-Cookie"), ";")[0]
	}
	mine, base := cookie(p), "/proxy/"+p.id+"/"
	header := http.Header{"Cookie": {"own=1; " + mine}, "Sec-Fetch-Site": {"same-origin"}}
	good := v.asks(t.Context(), "GET", host(p), base+"lab", header)
	given := good.header.Get(v1.GatewayHeader)
	if good.code != 200 || given == "" || strings.Contains(fmt.Sprint(good.header), p.spec.Secret) || good.header.Get("Cookie") != "own=1" {
		t.Fatalf("%d %v", good.code, good.header)
	}
	for what, c := range map[string]struct {
		method, host, uri, cookie string
		code                      int
	}{
		"no cookie":                  {"GET", host(p), base + "lab", "", 401},
		"another task's cookie":      {"GET", host(late), "/proxy/" + late.id + "/", mine, 401},
		"another host":               {"GET", host(late), base, mine, 404},
		"a host outside":             {"GET", "evil.example", base, mine, 404},
		"the API":                    {"GET", host(p), "/api/v1/me", mine, 404},
		"dots":                       {"GET", host(p), base + "%2e%2e/x", mine, 400},
		"an address of another site": {"GET", host(p), "http://evil.example" + base, mine, 400},
		"nothing":                    {"GET", host(p), "", mine, 400},
		"a task that is starting":    {"GET", host(late), "/proxy/" + late.id + "/", cookie(late), 404},
		"a form without an origin":   {"POST", host(p), base, mine, 200}, // its Sec-Fetch-Site says where it is from
	} {
		a := v.asks(t.Context(), c.method, c.host, c.uri, http.Header{"Cookie": {c.cookie}, "Sec-Fetch-Site": {"same-origin"}})
		if a.code != c.code || (a.header.Get(v1.GatewayHeader) != "") != (c.code == 200) {
			t.Errorf("%s: %d %v", what, a.code, a.header)
		}
	}

	shows := func(p *proxiedTask, value, method, path string) int {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+p.gate.Address()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(v1.GatewayHeader, value)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	for what, c := range map[string]struct {
		value, method, path string
		code                int
	}{
		"the request":    {given, "GET", base + "lab", 200},
		"another method": {given, "POST", base + "lab", 403},
		"another path":   {given, "GET", base + "lab2", 403},
		"an old grant":   {grant.New(p.spec.Secret, "GET", base+"lab", 1, time.Now().Add(-grant.Life-2*time.Second)), "GET", base + "lab", 403},
		"no grant":       {"", "GET", base + "lab", 403},
	} {
		if got := shows(p, c.value, c.method, c.path); got != c.code {
			t.Errorf("%s at the gateway: %d", what, got)
		}
	}
	plain := newProxyRig(t)
	q := plain.open("determined", "notebooks")
	if got := shows(q, grant.New(q.spec.Secret, "GET", q.spec.BasePath, 1, time.Now()), "GET", q.spec.BasePath); got != 403 {
		t.Errorf("a grant at the gateway of a cluster without an ingress: %d", got)
	}
}

// TestVisitors: a runner learns which visitors may no longer enter, and a program cannot ask about sessions.
func TestVisitors(t *testing.T) {
	v := newIngressRig(t)
	p, other := v.open("determined", "notebooks"), v.open("determined", "notebooks")
	me := v.user("determined")
	who, err := accounts.SessionWho(t.Context(), v.db, v.api.cfg.Roles, auth.HashToken(strings.TrimPrefix(me.token, "Bearer ")))
	if err != nil {
		t.Fatal(err)
	}
	session := who.SessionID
	name := func(p *proxiedTask, session int64) string {
		visitor, ok := grant.Check(p.spec.Secret, grant.New(p.spec.Secret, "GET", "/", session, time.Now()), "GET", "/", time.Now())
		if !ok {
			t.Fatal("no grant")
		}
		return visitor
	}
	here, nobody, gone := name(p, session), name(p, 0), name(p, session+1000)
	runner := v.task(p.token)
	ask := func(path string) answer {
		return runner.post("/api/v1/detent/allocations/"+path+"/visitors", fmt.Sprintf(`{"visitors":[%q,%q,%q,"%d",%q]}`, here, nobody, gone, session, name(other, session)))
	}
	var got struct{ Gone []string }
	ask(p.id + ".1").ok().into(&got)
	if want := []string{gone, fmt.Sprint(session), name(other, session)}; fmt.Sprint(got.Gone) != fmt.Sprint(want) {
		t.Errorf("gone: %v, want %v", got.Gone, want)
	}
	ask(other.id + ".1").is(403)
	me.post("/api/v1/auth/logout", "").ok()
	ask(p.id + ".1").ok().into(&got)
	if len(got.Gone) != 4 || got.Gone[0] != here {
		t.Errorf("after the sign-out: %v", got.Gone)
	}
	runner.post("/api/v1/detent/allocations/"+p.id+".1/visitors", `{"visitors":["`+strings.Repeat(`x","`, attempts.MaxVisitors)+`"]}`).is(400)
}

// TestARefusedRequestWithABody: the master answers at once, at the API's origin and at a task's
// host on the same listener, and the connection stays usable.
func TestARefusedRequestWithABody(t *testing.T) {
	v := newIngressRig(t)
	p := v.open("determined", "notebooks")
	c := &http.Client{Timeout: 20 * time.Second}
	defer c.CloseIdleConnections()
	for _, host := range []string{p.id + ".localhost:1", ""} {
		for i, body := range []string{"", "{}", strings.Repeat("x", 200_000), "{}", ""} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, v.url+"/proxy/"+p.id+"/api", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Host = host
			resp, err := c.Do(req)
			if err != nil {
				t.Fatalf("%q, request %d: %v", host, i, err)
			}
			text, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusUnauthorized {
				t.Errorf("%q, request %d: %d %s %v", host, i, resp.StatusCode, text, err)
			}
		}
	}
}
