package api

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/detent-ml/detent/master/rest"
)

// browser has the headers of a browser that navigates to an address.
var browser = http.Header{"Accept": {"text/html,application/xhtml+xml,*/*;q=0.8"}, "Accept-Encoding": {"identity"}}

func withPages(c *Config) {
	c.Pages = fstest.MapFS{
		"index.html":       {Data: []byte("<!doctype html><title>start</title>")},
		"favicon.svg":      {Data: []byte("<svg/>")},
		".keep":            {Data: []byte("secret")},
		"assets/app-1a.js": {Data: []byte(strings.Repeat("say('hello');\n", 500))},
	}
}

func TestPagesAreServed(t *testing.T) {
	r := newRig(t, withPages)
	open := func(path string) answer { return r.anyone().with("GET", path, nil, browser) }

	for _, path := range []string{"/", "/experiments", "/experiments/12/logs?q=x", "/det/experiments/1", "/no/such/page", "/../etc/passwd", "/tasks", "/tasks?kind=notebooks"} {
		a := open(path).ok()
		if !strings.Contains(string(a.body), "<title>start") || !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
			t.Errorf("%s: %s: %s", path, a.header.Get("Content-Type"), a.body)
		}
		if a.header.Get("Cache-Control") != "no-cache" || a.header.Get("ETag") == "" {
			t.Errorf("%s: a browser might keep an old start page: %v", path, a.header)
		}
		guarded(t, path, a.header)
	}
	a := open("/assets/app-1a.js").ok()
	if a.header.Get("Cache-Control") != rest.ImmutableCache || a.header.Get("Content-Type") != "text/javascript; charset=utf-8" {
		t.Errorf("a script: %v", a.header)
	}
	guarded(t, "a script", a.header)
	if a := open("/favicon.svg").ok(); a.header.Get("Content-Type") != "image/svg+xml" || a.header.Get("Cache-Control") != "no-cache" {
		t.Errorf("a picture: %v", a.header)
	}
	tag := a.header.Get("ETag")
	if got := r.anyone().with("GET", "/assets/app-1a.js", nil, http.Header{"If-None-Match": {tag}}); got.code != 304 || len(got.body) > 0 {
		t.Errorf("%d and %d bytes for what the browser has", got.code, len(got.body))
	}
	packed := r.anyone().with("GET", "/assets/app-1a.js", nil, http.Header{"Accept-Encoding": {"gzip"}}).ok()
	z, err := gzip.NewReader(bytes.NewReader(packed.body))
	if err != nil {
		t.Fatalf("not packed: %v: %v", err, packed.header)
	}
	plain, err := io.ReadAll(z)
	if err != nil || !bytes.Equal(plain, a.body) || packed.header.Get("Vary") != "Accept-Encoding" {
		t.Errorf("packed otherwise: %v, %v", err, packed.header)
	}
}

// guarded: no page runs what others wrote, or is shown inside others' pages.
func guarded(t *testing.T, what string, h http.Header) {
	t.Helper()
	policy := h.Get("Content-Security-Policy")
	for _, rule := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
		if !strings.Contains(policy, rule) {
			t.Errorf("%s: the policy lacks %q: %s", what, rule, policy)
		}
	}
	if strings.Contains(policy, "unsafe") || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("X-Frame-Options") != "DENY" {
		t.Errorf("%s: %v", what, h)
	}
}

// TestPagesAreNotInTheWay: programs that request an unknown address get an error and no page, and so do
// browsers at addresses that cannot be pages.
func TestPagesAreNotInTheWay(t *testing.T) {
	r := newRig(t, withPages)
	r.anyone().get("/experiments").says(404, "no such path: GET /experiments")
	for _, path := range []string{"/api/v1/nothing", "/api", "/proxy/x/lab", "/runner/x", "/harness/x", "/assets/gone.js", "/docs/none"} {
		r.anyone().with("GET", path, nil, browser).is(404)
	}
	for _, old := range []string{"/docs/latest/index.html", "/docs/", "/docs"} { // addresses of Determined's documentation
		r.anyone().with("GET", old, nil, browser).says(404, "this master has /docs/rest-api and /docs/python")
	}
	r.anyone().with("POST", "/experiments", strings.NewReader("{}"), browser).says(404, "POST")
	if a := r.anyone().with("GET", "/.keep", nil, browser); strings.Contains(string(a.body), "secret") {
		t.Errorf("a hidden file was served")
	}
	if a := r.anyone().with("HEAD", "/experiments", nil, browser).ok(); len(a.body) > 0 {
		t.Errorf("HEAD: %s", a.body)
	}
}

// TestStartPageForEverybody: curl, which accepts anything, and the health checks of load balancers get the
// start page.
func TestStartPageForEverybody(t *testing.T) {
	r := newRig(t, withPages)
	for _, path := range []string{"/", "/det", "/det/"} {
		a := r.anyone().get(path).ok()
		if !strings.Contains(a.header.Get("Content-Type"), "text/html") || len(a.body) == 0 {
			t.Errorf("%s: %s %s", path, a.header.Get("Content-Type"), a.body)
		}
		r.anyone().with("HEAD", path, nil, nil).ok()
	}
}

// TestOtherMethods: HEAD has the status of GET and no body; a method that a path lacks is named together
// with those that it has.
func TestOtherMethods(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	for _, path := range []string{"/api/v1/master", "/api/v1/experiments", "/info", "/health"} {
		if a := me.with("HEAD", path, nil, nil).ok(); len(a.body) > 0 {
			t.Errorf("HEAD %s: %s", path, a.body)
		}
	}
	me.with("HEAD", "/api/v1/experiments/99", nil, nil).is(404)
	r.anyone().with("HEAD", "/api/v1/experiments", nil, nil).is(401)
	a := me.with("PUT", "/api/v1/experiments", strings.NewReader("{}"), nil)
	a.says(501, "Method Not Allowed", "PUT")
	if allow := a.header.Get("Allow"); !strings.Contains(allow, "GET") || !strings.Contains(allow, "POST") {
		t.Errorf("Allow: %s", allow)
	}
	for path, has := range map[string]string{"/api/v1/experiments/1/": "GET", "/api/v1/experiments//": "GET, POST", "/api/v1/experiments/1/kill": "POST", "/api/v1/experiments/1/labels/a/b": "PUT, DELETE", "/api/v1/experiments/1/labels/a": "PUT, DELETE"} {
		if a := me.with("TRACE", path, nil, nil).says(501, "has no method TRACE"); !strings.Contains(a.header.Get("Allow"), has) {
			t.Errorf("Allow of %s: %s", path, a.header.Get("Allow"))
		}
	}
	for _, path := range []string{"/api/v1/nothing", "/api/v1/experiments/1/nothing", "/api/v1/experiments/1/kill/2", "/api/v1/Experiments/1/kill", "/api/v1/experiments//kill", "/api/v1"} {
		me.with("DELETE", path, nil, nil).says(404, "no such path")
	}
}

func TestPagesMayBeMissing(t *testing.T) {
	r := newRig(t)
	a := r.anyone().with("GET", "/experiments", nil, browser).ok()
	if !strings.Contains(string(a.body), "without its pages") {
		t.Errorf("%s", a.body)
	}
	guarded(t, "the page", a.header)
}

func TestListsMayLeaveOutConfigurations(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	me.create(yaml())
	full := me.get("/api/v1/experiments").ok()
	if at(t, full.tree(), "experiments.0.originalConfig") == "" {
		t.Fatalf("%s", full.body)
	}
	lean := me.get("/api/v1/experiments?withoutConfig=true").ok().tree()
	if at(t, lean, "experiments.0.originalConfig") != "" || len(at(t, lean, "experiments.0.config").(map[string]any)) != 0 ||
		at(t, lean, "experiments.0.name") != "small" {
		t.Errorf("%v", at(t, lean, "experiments.0"))
	}
	me.get("/api/v1/experiments?withoutConfig=maybe").says(400, "withoutConfig")
}
