//go:build linux

package api

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/proxy"
	v1 "github.com/detent-ml/detent/master/v1"
)

func TestABrowserVisitsANotebook(t *testing.T) {
	v := newProxyRig(t)
	p := v.open("determined", "notebooks")
	b := v.browser("determined")
	link := b.redirect(v.url + "/proxy/" + p.id + "/lab/tree/a%20b?x=1&y=%2F")
	if want := v.tasks + "/proxy/" + p.id + "/lab/tree/a%20b?det-ticket="; !strings.HasPrefix(link, want) || !strings.HasSuffix(link, "&x=1&y=%2F") {
		t.Fatalf("the way to the task is %s", link)
	}
	clean := b.redirect(link)
	if clean != "/proxy/"+p.id+"/lab/tree/a%20b?x=1&y=%2F" {
		t.Fatalf("the way without the ticket is %s", clean)
	}
	got := b.goTo(v.tasks + clean).ok()
	if want := "program of " + p.id + ": GET " + clean; string(got.body) != want {
		t.Fatalf("%s, want %s", got.body, want)
	}
	if policy := got.header.Get("Content-Security-Policy"); !strings.Contains(policy, "frame-ancestors 'self' http://127.0.0.1:8080") {
		t.Errorf("the policy is %q", policy)
	}
	seen := p.lastSeen()
	for _, field := range []string{"Cookie", "Authorization", v1.GatewayHeader, "X-User-Token"} {
		if got := seen.Header.Values(field); len(got) != 0 {
			t.Errorf("the program sees %s: %q", field, got)
		}
	}
	if seen.Host != strings.TrimPrefix(v.tasks, "http://") || seen.Header.Get("X-Forwarded-Proto") != "http" || seen.Header.Get("X-Forwarded-For") != "127.0.0.1" {
		t.Errorf("the program receives the host %q and the headers %v", seen.Host, seen.Header)
	}
	if name := "det-task-" + p.id; b.cookie(v.tasks+"/proxy/"+p.id+"/", name) == nil || b.cookie(v.tasks+"/proxy/", name) != nil {
		t.Error("the cookie is not for the task's path alone")
	}
	// Without the slash, and by way of Determined's old address.
	b.goTo(v.url + "/proxy/" + p.id).ok()
	b.goTo(v.url + "/det/interactive/" + p.id + "/jupyter-lab/x/default/y").ok()

	if a := v.browser("").goTo(link); a.code != 403 || !strings.Contains(string(a.body), "has been used") || strings.Contains(string(a.body), "program") {
		t.Errorf("a ticket that was used: %d %s", a.code, a.body)
	}
	b.goTo(link).ok() // whoever is in stays in
}

// TestALinkOpensATaskOnce: the link of det opens a task in a browser without a session, once.
func TestALinkOpensATaskOnce(t *testing.T) {
	v := newProxyRig(t)
	p := v.open("determined", "notebooks")
	var got struct{ URL string }
	v.user("determined").post("/api/v1/detent/tasks/"+p.id+"/link", "").ok().into(&got)
	fresh := v.browser("")
	if a := fresh.goTo(got.URL).ok(); !strings.HasPrefix(string(a.body), "program of") {
		t.Fatalf("%s", a.body)
	}
	v.browser("").goTo(got.URL).is(403)
	v.user("admin").post("/api/v1/detent/tasks/"+p.id+"/link", "").ok()
	v.anyone().post("/api/v1/detent/tasks/"+p.id+"/link", "").is(401)
	v.user("determined").post("/api/v1/detent/tasks/no-such-task/link", "").is(404)
	v.user("determined").post("/api/v1/detent/tasks/..%2f..%2f/link", "").is(404)
}

func TestOnlyOwnerAndAdminsGetIn(t *testing.T) {
	v := newProxyRig(t)
	v.user("admin").post("/api/v1/users", `{"user":{"username":"mallory","active":true},"password":""}`).ok()
	p, q := v.open("determined", "notebooks"), v.open("mallory", "notebooks")
	owner, admin, mallory := v.browser("determined"), v.browser("admin"), v.browser("mallory")
	path := "/proxy/" + p.id + "/"
	owner.goTo(v.url + path).ok()
	admin.goTo(v.url + path).ok()
	nothing := func(what string, a answer, code int) {
		t.Helper()
		if a.code != code || strings.Contains(string(a.body), "program of") {
			t.Errorf("%s: %d %s", what, a.code, a.body)
		}
	}
	nothing("another user's session", mallory.goTo(v.url+path), 403)
	nothing("another user's token", v.user("mallory").get(path), 403)
	nothing("nobody", v.anyone().get(path), 401)
	nothing("nobody, in a browser", v.browser("").goTo(v.url+path), 401)
	nothing("a wrong token", as{r: v.rig, header: "Authorization", token: "Bearer nonsense"}.get(path), 401)
	within := v.running(yaml(), 1).session()
	nothing("the session of the owner's trial", within.get(path), 403)
	within.header, within.token = "Cookie", "auth="+strings.TrimPrefix(within.token, "Bearer ")
	nothing("the session of the owner's trial, as a cookie", within.get(path), 403)
	nothing("another's link", v.user("mallory").post("/api/v1/detent/tasks/"+p.id+"/link", ""), 403)
	if a := v.user("determined").get(path).ok(); !strings.HasPrefix(string(a.body), "program of "+p.id) || a.header.Get("Content-Security-Policy") != "sandbox" {
		t.Errorf("the owner's token: %s %v", a.body, a.header)
	}

	// The ticket of one task at another, and its cookie.
	ticket := mallory.redirect(v.url + "/proxy/" + q.id + "/")
	nothing("a ticket for another task", mallory.goTo(strings.Replace(ticket, q.id, p.id, 1)), 403)
	mallory.goTo(ticket).ok()
	own := mallory.cookie(v.tasks+"/proxy/"+q.id+"/", "det-task-"+q.id)
	if own == nil {
		t.Fatal("no cookie")
	}
	for _, cookie := range []string{"det-task-" + p.id + "=" + own.Value, "det-task-" + q.id + "=" + own.Value, "det-task-" + p.id + "=", "auth=" + own.Value} {
		nothing("the cookie of another task as "+cookie[:9], v.browser("").ask("GET", v.tasks+path, map[string]string{"Cookie": cookie, "Sec-Fetch-Site": "none"}, ""), 401)
	}
	nothing("a token on the tasks' origin", v.browser("").ask("GET", v.tasks+path, map[string]string{"Authorization": v.user("determined").token}, ""), 401)
	session := owner.cookie(v.url, "auth")
	nothing("the session's cookie on the tasks' origin", v.browser("").ask("GET", v.tasks+path, map[string]string{"Cookie": "auth=" + session.Value}, ""), 401)
	nothing("a cookie of the tasks' origin as a session", v.browser("").ask("GET", v.url+"/api/v1/me", map[string]string{"Cookie": "auth=" + own.Value, "Sec-Fetch-Site": "same-origin"}, ""), 401)
	nothing("a cookie of the tasks' origin as a token", as{r: v.rig, header: "Authorization", token: "Bearer " + own.Value}.get("/api/v1/me"), 401)
	nothing("a task's port, dialled directly", v.browser("").ask("GET", fmt.Sprintf("http://127.0.0.1:%d%s", p.port, path), nil, ""), 403)
	nothing("a task's port with the owner's token", v.browser("").ask("GET", fmt.Sprintf("http://127.0.0.1:%d%s", p.port, path),
		map[string]string{"Authorization": v.user("determined").token, v1.GatewayHeader: q.spec.Secret}, ""), 403)
}

// TestATasksPageGetsNothingFromTheAPI: a notebook's page calls the API while an admin has it open.
// The browser sends the admin's cookies too, because cookies belong to a host and not to a port.
func TestATasksPageGetsNothingFromTheAPI(t *testing.T) {
	v := newProxyRig(t)
	p := v.open("determined", "notebooks")
	admin := v.browser("admin")
	admin.goTo(v.url + "/proxy/" + p.id + "/").ok()
	if admin.cookie(v.tasks, "auth") == nil {
		t.Fatal("the rig's browser keeps cookies apart by port, which browsers do not")
	}
	page := map[string]string{"Origin": v.tasks, "Referer": v.tasks + "/proxy/" + p.id + "/", "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}
	old := map[string]string{"Origin": v.tasks} // over plain HTTP browsers say less
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/api/v1/me", ""}, {"GET", "/api/v1/users", ""}, {"POST", "/api/v1/users", `{"user":{"username":"evil","admin":true,"active":true}}`},
		{"POST", "/api/v1/detent/tasks/" + p.id + "/link", ""}, {"GET", "/proxy/" + p.id + "/", ""},
	} {
		for _, header := range []map[string]string{page, old} {
			if a := admin.ask(c.method, v.url+c.path, header, c.body); a.code != 403 && a.code != 401 || a.header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s %s: %d %s", c.method, c.path, a.code, a.body)
			}
		}
	}
	for _, path := range []string{"/api/v1/me", "/", "/info", "/health", "/api/v1/auth/login", "/proxy/", "/proxy", "/det/", "/runner/x/y"} {
		for _, method := range []string{"GET", "POST"} {
			if a := admin.ask(method, v.tasks+path, nil, ""); a.code != 404 || strings.Contains(string(a.body), "admin") {
				t.Errorf("the tasks' origin answers %s %s: %d %s", method, path, a.code, a.body)
			}
		}
	}
}

// TestATaskOpensAfterAClickForIt: one of our own pages is not enough, because any page can lead to it. Where the
// click was for something else, our pages say so (det-ask).
func TestATaskOpensAfterAClickForIt(t *testing.T) {
	v := newProxyRig(t)
	p := v.open("determined", "notebooks")
	b := v.browser("determined")
	at := "/proxy/" + p.id + "/lab"
	for _, c := range []struct {
		what, query, site, user string
		opens                   bool
	}{
		{"a typed address", "", "none", "?1", true},
		{"a click on our page", "?a=1", "same-origin", "?1", true},
		{"a script of our page", "", "same-origin", "", false},
		{"a program that starts the browser", "", "none", "", false},
		{"a click elsewhere", "", "cross-site", "?1", false},
		{"a click for something else", "?a=1&det-ask=", "same-origin", "?1", false},
		{"that, typed", "?det-ask=1", "none", "?1", false},
	} {
		h := navigated()
		if h["Sec-Fetch-Site"], h["Sec-Fetch-User"] = c.site, c.user; c.user == "" {
			delete(h, "Sec-Fetch-User")
		}
		a := b.ask("GET", v.url+at+c.query, h, "")
		if opened := a.code == 200 && strings.Contains(string(a.body), "program of"); opened != c.opens {
			t.Errorf("%s: %d %s", c.what, a.code, a.body)
		} else if !opened && (a.code != 403 || !strings.Contains(string(a.body), "Open this notebook?") || strings.Contains(string(a.body), "det-ask")) {
			t.Errorf("%s is answered with %d %s", c.what, a.code, a.body)
		}
	}
}

// TestAnotherPageMayNotUseACookie tests requests that other pages cause, also pages of other tasks'
// hosts in the same domain.
func TestAnotherPageMayNotUseACookie(t *testing.T) {
	v := newProxyRig(t)
	p := v.open("determined", "notebooks")
	b := v.browser("determined")
	at := v.tasks + "/proxy/" + p.id + "/"
	b.goTo(v.url + "/proxy/" + p.id + "/").ok()
	for _, c := range []struct {
		what   string
		method string
		header map[string]string
		code   int
	}{
		{"a link on another page", "GET", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 200},
		{"its own page", "POST", map[string]string{"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", "Origin": v.tasks}, 200},
		{"its own page, over plain HTTP", "POST", map[string]string{"Origin": v.tasks}, 200},
		{"an image elsewhere", "GET", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}, 403},
		{"a frame elsewhere", "GET", map[string]string{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, 403},
		{"a form elsewhere", "POST", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document", "Origin": "http://evil.example"}, 403},
		{"a script of the next task's host", "GET", map[string]string{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors", "Origin": "http://other.example"}, 403},
		{"a script elsewhere, over plain HTTP", "GET", map[string]string{"Origin": "http://evil.example"}, 403},
		{"a sandboxed page", "POST", map[string]string{"Origin": "null"}, 403},
		{"a change without an origin", "POST", nil, 403},
		{"the master's page", "POST", map[string]string{"Sec-Fetch-Site": "same-site", "Origin": v.url}, 403},
	} {
		if a := b.ask(c.method, at, c.header, ""); a.code != c.code || (a.code != 200) == strings.Contains(string(a.body), "program of") {
			t.Errorf("%s: %d %s", c.what, a.code, a.body)
		}
	}
}

func TestWhatATaskMayNotSay(t *testing.T) {
	v := newProxyRig(t)
	p := v.open("determined", "notebooks")
	b := v.browser("determined")
	b.goTo(v.url + "/proxy/" + p.id + "/").ok()
	before := b.cookie(v.url, "auth").Value
	a := b.goTo(v.tasks + "/proxy/" + p.id + "/cookies").ok()
	want := []string{"mine=1; Path=/proxy/" + p.id + "/", "wide=1; Path=/proxy/" + p.id + "/", "here=1; Path=/proxy/" + p.id + "/lab; HttpOnly"}
	if got := a.header.Values("Set-Cookie"); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the task's cookies are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, field := range []string{"Clear-Site-Data", "Service-Worker-Allowed", v1.GatewayHeader} {
		if a.header.Get(field) != "" {
			t.Errorf("the answer of the task has the header %s", field)
		}
	}
	if b.cookie(v.url, "auth").Value != before {
		t.Error("the task changed the session's cookie")
	}
	if a := v.user("determined").get("/proxy/" + p.id + "/cookies").ok(); a.header.Get("Service-Worker-Allowed") != "" {
		t.Error("at the API's origin the answer keeps Service-Worker-Allowed")
	}
	// The cookies that the program of the task receives.
	b.goTo(v.tasks + "/proxy/" + p.id + "/lab").ok()
	if got := p.lastSeen().Header.Get("Cookie"); !strings.Contains(got, "mine=1") || strings.Contains(got, "auth") || strings.Contains(got, "det-task") {
		t.Errorf("the task sees the cookies %q", got)
	}
}

// TestHeadersThatAreOurs: a user cannot set the headers that the master adds.
func TestHeadersThatAreOurs(t *testing.T) {
	v := newProxyRig(t)
	p, other := v.open("determined", "notebooks"), v.open("determined", "notebooks")
	c := v.user("determined")
	header := http.Header{v1.GatewayHeader: {other.spec.Secret}, "X-Forwarded-For": {"6.6.6.6"}, "X-Forwarded-Host": {"evil"}, "X-Real-Ip": {"6.6.6.6"},
		"X-Detent-Anything": {"x"}, "Grpc-Metadata-X-Allocation-Token": {"Bearer y"}, "X_Detent_Gateway": {"z"}, "Forwarded": {"for=6.6.6.6"},
		"Cookie": {`auth=s; mine=1; det-task-x=2; AUTH=3; "auth"=4`}, "X-Mine": {"1"}, "Connection": {"X-Detent-Gateway, X-Mine2"}, "X-Mine2": {"1"}}
	c.with("GET", "/proxy/"+p.id+"/", nil, header).ok()
	seen := p.lastSeen().Header
	for _, field := range []string{v1.GatewayHeader, "X-Detent-Anything", "Grpc-Metadata-X-Allocation-Token", "X_Detent_Gateway", "Forwarded", "Authorization", "X-Mine2"} {
		if len(seen.Values(field)) != 0 {
			t.Errorf("the program sees %s: %q", field, seen.Values(field))
		}
	}
	if seen.Get("X-Mine") != "1" || seen.Get("Cookie") != "mine=1; _xsrf=program" || seen.Get("X-Forwarded-For") != "127.0.0.1" || seen.Get("X-Real-Ip") != "127.0.0.1" || strings.Contains(seen.Get("X-Forwarded-Host"), "evil") {
		t.Errorf("the program sees %v", seen)
	}
}

func TestPathsThatLeadNowhere(t *testing.T) {
	v := newProxyRig(t)
	p := v.open("determined", "notebooks")
	token := v.user("determined").token
	b := v.browser("determined")
	b.goTo(v.url + "/proxy/" + p.id + "/").ok()
	cookie := b.cookie(v.tasks+"/proxy/"+p.id+"/", "det-task-"+p.id).Value
	id := p.id
	for _, path := range []string{
		"/proxy/../api/v1/me", "/proxy/%2e%2e/api/v1/me", "/proxy/..%2fapi/v1/me", "//proxy/" + id + "/", "/proxy//" + id + "/", "/proxy/%2f" + id + "/",
		"/proxy/" + id + "/../../api/v1/me", "/proxy/" + id + "/%2e%2e/x", "/proxy/" + id + "/..%2f..%2fapi", "/proxy/" + id + "/%252e%252e/x", "/proxy/" + id + "/a/..%5c..%5cb",
		"/proxy/" + id + "/..;/x", "/%70roxy/" + id + "/", "/proxy%2f" + id + "/", "/./proxy/" + id + "/", "/x/../proxy/" + id + "/", "/proxy/" + id[:8] + "%2d" + id[9:] + "/",
		"/proxy/" + strings.ToUpper(id) + "/", "/PROXY/" + id + "/", "/proxy/" + id + "%00/", "/proxy/" + id + "@127.0.0.1/", "/proxy/http://127.0.0.1/", "/proxy/" + id + ":80/",
	} {
		for origin, header := range map[string]string{v.url: "Authorization: " + token, v.tasks: "Cookie: det-task-" + id + "=" + cookie + "\r\nSec-Fetch-Site: same-origin"} {
			status, body := speak(t, origin, "GET "+path+" HTTP/1.1", header)
			if status < 400 || strings.Contains(body, "program of") || strings.Contains(body, `"username"`) {
				t.Errorf("%s%s: %d %s", origin, path, status, body)
			}
		}
	}
	if status, body := speak(t, v.url, "GET http://elsewhere/proxy/"+id+"/ HTTP/1.1", "Authorization: "+token); status != 403 {
		t.Errorf("under a name that is not the master's: %d %s", status, body)
	}
	// Paths that lead to the task, also with another name for the master's host.
	for _, path := range []string{"/proxy/" + id + "/a%2Fb//c/...", "http://localhost/proxy/" + id + "/", "/proxy/" + id + "/?a=//x/../.."} {
		if status, body := speak(t, v.url, "GET "+path+" HTTP/1.1", "Authorization: "+token); status != 200 || !strings.Contains(body, "program of "+id) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// speak writes a request by hand.
func speak(t *testing.T, origin, line, header string) (int, string) {
	t.Helper()
	host := strings.TrimPrefix(origin, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := fmt.Fprintf(conn, "%s\r\nHost: %s\r\n%s\r\nConnection: close\r\n\r\n", line, host, header); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return resp.StatusCode, string(body)
}

func TestPagesInPlaceOfATask(t *testing.T) {
	v := newProxyRig(t)
	c := v.user("determined")
	get := func(id string) answer { return c.get("/proxy/" + id + "/") }
	const unknown = "00000000-0000-4000-8000-000000000000"
	get(unknown).says(404, "service not found: "+unknown, "There is no task", "det notebook list")
	p := v.make("determined", "notebooks")
	get(p.id).says(404, "service not found: "+p.id, "is queued")
	if a := get(p.id); a.header.Get("Retry-After") == "" {
		t.Error("the page has no Retry-After")
	}
	if a := v.browser("determined").goTo(v.url + "/proxy/" + p.id + "/"); a.code != 404 || !strings.Contains(string(a.body), `http-equiv="refresh"`) {
		t.Errorf("the page: %d %s", a.code, a.body)
	}
	p.start()
	waitFor(t, func() bool { a := get(p.id); return a.code == 404 && strings.Contains(string(a.body), "is starting") })
	v.runs(p.id+".1", "ASSIGNED", "RUNNING")
	waitFor(t, func() bool { a := get(p.id); return a.code == 502 && strings.Contains(string(a.body), "is starting") })
	p.serve()
	waitFor(t, func() bool { return get(p.id).code == 200 })

	// The catalogue is away: the last known address serves.
	v.mu.Lock()
	v.away = true
	v.mu.Unlock()
	get(p.id).ok()
	// A task that stood up while it was away is found by what its runner said.
	q := v.open("determined", "notebooks")
	waitFor(t, func() bool { return get(q.id).code == 200 })

	p.gate.Close()
	get(p.id).says(502, "does not answer", "det task logs "+p.id)
	var cmd map[string]any
	c.post("/api/v1/commands", `{"config":{"entrypoint":["true"],"resources":{"slots":0}}}`).ok().into(&cmd)
	get(at(t, cmd, "command.id").(string)).says(404, "nothing to open")
	p.over()
	waitFor(t, func() bool { return get(p.id).code == 404 })
	get(p.id).says(404, "service not found: "+p.id, "is over", "killed by its owner")
}

// TestAStrangerOnTheTasksPort: a program has the port of a task whose runner died. The master does
// not show its answers as the task's.
func TestAStrangerOnTheTasksPort(t *testing.T) {
	v := newProxyRig(t)
	p := v.open("determined", "notebooks")
	stranger := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "stranger") })}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = stranger.Serve(ln) }()
	defer stranger.Close()
	v.where.Store(p.id+".1", ln.Addr())
	if a := v.user("determined").get("/proxy/" + p.id + "/"); a.code != 502 || strings.Contains(string(a.body), "stranger") {
		t.Errorf("%d %s", a.code, a.body)
	}
}

// TestADomainForTasks has a host for each task, on the listener of the API.
func TestADomainForTasks(t *testing.T) {
	v := newProxyRig(t, func(o *proxy.Origins) {
		*o = proxy.Origins{Master: "https://master.example.com", Domain: "tasks.example.com:8443"}
	})
	domain, p := v.proxy, v.open("determined", "notebooks")
	var got struct{ URL string }
	v.user("determined").post("/api/v1/detent/tasks/"+p.id+"/link", "").ok().into(&got)
	if !strings.HasPrefix(got.URL, "https://"+p.id+".tasks.example.com:8443/proxy/"+p.id+"/?det-ticket=") {
		t.Fatalf("the link is %s", got.URL)
	}
	u, err := url.Parse(got.URL)
	if err != nil {
		t.Fatal(err)
	}
	if domain.TasksHost("tasks.example.com") || domain.TasksHost("xtasks.example.com") || !domain.TasksHost("x.TASKS.example.com:1") {
		t.Error("the hosts of tasks are those within the domain")
	}
	if body := func() string {
		_, b := speakTo(t, v.url, u.Host, "/api/v1/me", "Authorization: "+v.user("admin").token)
		return b
	}(); strings.Contains(body, "username") {
		t.Errorf("a task's host has an API: %s", body)
	}
	if status, _ := speakTo(t, v.url, "another.tasks.example.com:8443", u.RequestURI(), "Accept: */*"); status != 404 {
		t.Errorf("a ticket at another task's host: %d", status)
	}
	if status, _ := speakTo(t, v.url, u.Host, u.RequestURI(), "Accept: */*"); status != 303 {
		t.Errorf("a ticket at its own host: %d", status)
	}
}

// speakTo writes a request for a host by hand.
func speakTo(t *testing.T, origin, host, path, header string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", origin+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	name, value, _ := strings.Cut(header, ": ")
	req.Header.Set(name, value)
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// TestATasksPageMakesNobodySomebodyElse: it sets a cookie of the session's name for
// a path, and it signs in.
func TestATasksPageMakesNobodySomebodyElse(t *testing.T) {
	v := newProxyRig(t)
	admin, mine := v.browser("admin").cookie(v.url, "auth"), v.browser("determined").cookie(v.url, "auth")
	ask := func(cookie string) answer {
		return v.browser("").ask("GET", v.url+"/api/v1/me", map[string]string{"Cookie": cookie, "Sec-Fetch-Site": "same-origin"}, "")
	}
	if a := ask("x=1; auth=" + admin.Value).ok(); !strings.Contains(string(a.body), `"admin"`) {
		t.Errorf("%s", a.body)
	}
	ask("auth=" + mine.Value + "; auth=" + admin.Value).is(401)
	if a := v.browser("").ask("POST", v.url+"/api/v1/auth/login", map[string]string{"Sec-Fetch-Site": "same-site", "Content-Type": "text/plain"},
		`{"username":"determined","password":"","isHashed":true}`); a.code != 403 || a.header.Get("Set-Cookie") != "" {
		t.Errorf("%d %v", a.code, a.header)
	}
}

// TestEarlyAnswers: the informational answers of a program, whose headers nobody checks, do not reach the browser.
func TestEarlyAnswers(t *testing.T) {
	v := newProxyRig(t)
	p := v.open("determined", "notebooks")
	b := v.browser("determined")
	b.goTo(v.url + "/proxy/" + p.id + "/").ok()
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
		t.Errorf("the browser gets %d with %v", code, h)
		return nil
	}})
	req, err := http.NewRequestWithContext(ctx, "GET", v.tasks+"/proxy/"+p.id+"/early", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Jar: b.jar}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "late" || resp.Header.Get("Set-Cookie") != "" {
		t.Errorf("%q %v %v", body, resp.Header, err)
	}
}
