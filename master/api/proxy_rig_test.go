//go:build linux

package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/proxy"
	"github.com/detent-ml/detent/master/task"
	"github.com/detent-ml/detent/master/tasks"
	"github.com/detent-ml/detent/master/tunnel"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/gateway"
)

// A proxyRig is the API with tasks that are really there: each has a program on a
// Unix socket, and a runner's gateway before it.
type proxyRig struct {
	*rig
	tasks string // the tasks' origin
	where sync.Map
	away  bool // the catalogue of services
	calls int  // asked of it
	mu    sync.Mutex
	proxy *proxy.Proxy
}

func newProxyRig(t testing.TB, change ...func(*proxy.Origins)) *proxyRig {
	t.Helper()
	return proxyRigOf(t, newRig, change...)
}

func proxyRigOf(t testing.TB, newRig func(testing.TB, ...func(*Config)) *rig, change ...func(*proxy.Origins)) *proxyRig {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	v := &proxyRig{tasks: "http://" + ln.Addr().String()}
	dir := &tasks.Directory{}
	origins := proxy.Origins{Master: "http://127.0.0.1:8080", URL: v.tasks}
	for _, c := range change {
		c(&origins)
	}
	v.proxy, err = proxy.New(origins, proxy.Rules{OpenPorts: true, Ingress: true}, dir, v.locate, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	called, err := url.Parse(origins.Master)
	if err != nil {
		t.Fatal(err)
	}
	v.rig = newRig(t, func(c *Config) {
		c.Proxy, c.Hosts = v.proxy, []string{called.Host}
		if origins.Domain != "" {
			c.Site.PublicURL, c.Site.Ingress = origins.Master, &task.Ingress{Host: origins.Host}
		}
	})
	dir.DB, dir.Roles = v.db, v.api.cfg.Roles
	server := &http.Server{Handler: v.proxy.Tasks()}
	go func() { _ = server.Serve(ln) }()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { v.proxy.Run(ctx); close(done) }()
	t.Cleanup(func() {
		cancel()
		<-done
		_ = server.Close()
	})
	return v
}

func (v *proxyRig) locate(_ context.Context, allocation string) (string, int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls++
	if v.away {
		return "", 0, fault.New(fault.Unavailable, "Consul is away")
	}
	at, ok := v.where.Load(allocation)
	if !ok {
		return "", 0, nil
	}
	addr := at.(*net.TCPAddr)
	return addr.IP.String(), addr.Port, nil
}

// A proxiedTask is a task behind the proxy.
type proxiedTask struct {
	v    *proxyRig
	id   string
	gate *gateway.Server
	spec v1.Gateway
	port int

	mu   sync.Mutex
	seen *http.Request // the last that its program saw
	body string
	told []string      // all bodies
	gone chan struct{} // told when the reader of a stream has left

	ports map[int]string // addresses of its program's ports

	token string // of its attempt

	old bool // its runner is of the release before certificates
}

// reports returns what the runner reports of a certificate; nothing for a runner of an older release.
func (p *proxiedTask) reports(fingerprint string) string {
	if p.old {
		return ""
	}
	return fingerprint
}

// make makes a task of a user's, queued.
func (v *proxyRig) make(user, kind string) *proxiedTask {
	return v.makeWith(user, kind, `{"resources":{"slots":0}}`)
}

// makeWith makes a task with a configuration.
func (v *proxyRig) makeWith(user, kind, config string) *proxiedTask {
	v.t.Helper()
	body := `{"config":` + config + `}`
	var got map[string]any
	v.user(user).post("/api/v1/"+kind, body).ok().into(&got)
	p := &proxiedTask{v: v, id: at(v.t, got, strings.TrimSuffix(kind, "s")+".id").(string), gone: make(chan struct{}, 8)}
	return p
}

// open makes a task whose program answers.
func (v *proxyRig) open(user, kind string) *proxiedTask {
	v.t.Helper()
	p := v.make(user, kind)
	p.start()
	p.serve()
	return p
}

// start places the attempt, and its runner passes the gate.
func (p *proxiedTask) start() {
	t := p.v.t
	t.Helper()
	certificate, err := gateway.NewCertificate()
	if err != nil {
		t.Fatal(err)
	}
	gate, err := gateway.Listen(t.Context(), "127.0.0.1:0", certificate)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gate.Close)
	p.gate = gate
	_, port, _ := net.SplitHostPort(gate.Address())
	id := p.id + ".1"
	p.v.apply(rows.Changes{Placements: []rows.Placement{{AllocationID: id, Members: []rows.PlacedMember{{NodeID: "n0", NodeName: "node-0"}}}}})
	jwt := "jwt-of-" + id
	p.v.identity.known[jwt] = attempts.Workload{Namespace: "default", JobID: "det-" + strings.ReplaceAll(id, ".", "-"), Group: "rank-0",
		NomadAllocID: "nomad-" + id, FirstOfGroup: true, NodeID: "n0"}
	var claimed struct {
		Token string
		Spec  struct{ Gateway json.RawMessage }
	}
	p.v.anyone().post("/api/v1/detent/allocations/"+id+"/claim", fmt.Sprintf(
		`{"rank":0,"identity":%q,"nonce":"a nonce of this very process","address":"127.0.0.1","ports":{"runner":%s},"gatewayCertificate":%q}`, jwt, port, p.reports(certificate.Fingerprint))).ok().into(&claimed)
	p.token = claimed.Token
	if err := v1.Unmarshal(claimed.Spec.Gateway, &p.spec); err != nil || p.spec.Secret == "" {
		t.Fatalf("the claim's answer has no gateway: %s %v", claimed.Spec.Gateway, err)
	}
	if _, err := fmt.Sscan(port, &p.port); err != nil {
		t.Fatal(err)
	}
	p.v.where.Store(id, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: p.port})
}

// dialPort connects to a port of the program.
func (p *proxiedTask) dialPort(ctx context.Context, port int) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", p.ports[port])
}

// serve starts the program and opens the gate to it.
func (p *proxiedTask) serve() {
	t := p.v.t
	t.Helper()
	dir := t.TempDir()
	socket, err := gateway.MakeSocket(filepath.Join(dir, "g"), filepath.Join(dir, "g"))
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", socket.Path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close(); socket.Close() })
	if p.spec.Kind == v1.GatewayOfSSH {
		go serveBytes(ln)
	} else {
		server := &http.Server{Handler: p}
		t.Cleanup(func() { _ = server.Close() })
		go func() { _ = server.Serve(ln) }()
	}
	p.gate.Open(p.spec, socket.Dial, p.dialPort)
	if err := attempts.MarkReady(t.Context(), p.v.db, p.id+".1"); err != nil {
		t.Fatal(err)
	}
}

// serveBytes simulates a shell: it echoes its input, and prints the number of bytes at the end.
func serveBytes(ln net.Listener) {
	for {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			n, err := io.Copy(conn, conn)
			if err == nil {
				fmt.Fprintf(conn, "|%d", n)
			}
		}()
	}
}

// over ends the task as the loop would.
func (p *proxiedTask) over() {
	p.v.t.Helper()
	p.v.apply(rows.Changes{Allocations: []rows.AllocationChange{{ID: p.id + ".1", Saw: p.v.text(`SELECT state FROM allocations WHERE id = $1`, p.id+".1"), State: "TERMINATED", Ended: true, Outcome: "killed"}},
		Tasks: []rows.TaskChange{{ID: p.id, Ended: true, ExitStatus: "killed by its owner"}}})
}

// ServeHTTP is the program.
func (p *proxiedTask) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	p.mu.Lock()
	p.seen, p.body, p.told = r, string(body), append(p.told, string(body))
	p.mu.Unlock()
	switch rest := strings.TrimPrefix(r.URL.Path, p.spec.BasePath); {
	case tunnel.Asked(r.Header) == "websocket":
		echoMessages(w, r)
	case rest == "drip":
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 2 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done() // the third never comes
		p.gone <- struct{}{}
	case rest == "cookies":
		for _, c := range []string{"mine=1; Path=/", "auth=stolen; Path=/", "det-task-" + p.id + "=x; Path=/", "wide=1; Domain=example.com", "here=1; Path=" + p.spec.BasePath + "lab; HttpOnly"} {
			w.Header().Add("Set-Cookie", c)
		}
		w.Header().Set("Clear-Site-Data", `"cookies"`)
		w.Header().Set("Service-Worker-Allowed", "/")
		w.Header().Set(v1.GatewayHeader, "starting")
		fmt.Fprint(w, "cookies")
	case rest == "early":
		w.Header().Set("Link", "</x>; rel=preload")
		w.Header().Set("Set-Cookie", "auth=stolen; Path=/")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Set-Cookie")
		fmt.Fprint(w, "late")
	case rest == "broken":
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write(make([]byte, 10))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case rest == "big":
		_, _ = w.Write(make([]byte, 3<<20))
	case rest == "count":
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, "%d %v", int(n)+len(body), err)
	default:
		fmt.Fprintf(w, "program of %s: %s %s", p.id, r.Method, r.RequestURI)
	}
}

func (p *proxiedTask) lastSeen() *http.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

func (p *proxiedTask) bodies() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.told)
}

// echoMessages repeats messages.
func echoMessages(w http.ResponseWriter, r *http.Request) {
	up := websocket.Upgrader{Subprotocols: []string{"v1.kernel"}, CheckOrigin: func(*http.Request) bool { return true }}
	ws, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer ws.Close()
	for {
		kind, message, err := ws.ReadMessage()
		if err != nil || ws.WriteMessage(kind, message) != nil {
			return
		}
	}
}

// A guest is a browser: it stores cookies by host and not by port, as browsers do, and sends
// headers that state which page caused a request.
type guest struct {
	v   *proxyRig
	jar http.CookieJar
	c   *http.Client
}

// browser returns a browser in which a user has signed in; for "" nobody has.
func (v *proxyRig) browser(user string) *guest {
	v.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		v.t.Fatal(err)
	}
	b := &guest{v: v, jar: jar, c: &http.Client{Jar: jar, Timeout: 60 * time.Second}}
	if user != "" {
		b.ask("POST", v.url+"/api/v1/auth/login", map[string]string{"Sec-Fetch-Site": "same-origin"}, fmt.Sprintf(`{"username":%q,"password":"","isHashed":true}`, user)).is(200)
	}
	return b
}

// ask sends a request, follows redirects, and gives the last answer.
func (b *guest) ask(method, address string, header map[string]string, body string) answer {
	b.v.t.Helper()
	req, err := http.NewRequestWithContext(b.v.t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		b.v.t.Fatal(err)
	}
	for k, val := range header {
		req.Header.Set(k, val)
	}
	resp, err := b.c.Do(req)
	if err != nil {
		b.v.t.Fatalf("%s %s: %v", method, address, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.v.t.Fatalf("%s %s: %v", method, address, err)
	}
	return answer{t: b.v.t, what: method + " " + address, code: resp.StatusCode, header: resp.Header, body: text}
}

// navigated has the headers of a browser for an address that a user typed.
func navigated() map[string]string {
	return map[string]string{"Accept": "text/html,*/*;q=0.8", "Sec-Fetch-Site": "none", "Sec-Fetch-User": "?1", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
}

// go to an address as if it was typed.
func (b *guest) goTo(address string) answer {
	b.v.t.Helper()
	return b.ask("GET", address, navigated(), "")
}

// redirect is where an address leads, one step.
func (b *guest) redirect(address string) string {
	b.v.t.Helper()
	c := *b.c
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	once := &guest{v: b.v, jar: b.jar, c: &c}
	a := once.goTo(address)
	if a.code != http.StatusSeeOther {
		b.v.t.Fatalf("%s: %d, want a redirect: %s", address, a.code, a.body)
	}
	return a.header.Get("Location")
}

func (b *guest) cookie(at, name string) *http.Cookie {
	u, err := url.Parse(at)
	if err != nil {
		b.v.t.Fatal(err)
	}
	for _, c := range b.jar.Cookies(u) {
		if c.Name == name {
			return c
		}
	}
	return nil
}
