package proxy

import (
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"
)

func TestServiceOf(t *testing.T) {
	for _, c := range []struct {
		path  string
		id    string // "" for none; with a port: id:port
		slash bool
		dots  bool
	}{
		{"/proxy/7f-a/", "7f-a", true, false},
		{"/proxy/7f-a", "7f-a", false, false},
		{"/proxy/1.trial/a//b/c%2Fd", "1.trial", true, false},
		{"/proxy/x/...", "x", true, false},
		{"/proxy/x/a.b/..c/d..", "x", true, false},
		{"/proxy/x/%E2%80%A6", "x", true, false},
		{"/proxy/", "", false, false},
		{"/proxy", "", false, false},
		{"/", "", false, false},
		{"//proxy/x/", "", false, false},
		{"/proxy//x/", "", false, false},
		{"/Proxy/x/", "", false, false},
		{"/proxy/../x", "", false, false},
		{"/proxy/.x/", "", false, false},
		{"/proxy/x./", "", false, false},
		{"/proxy/a..b/", "", false, false},
		{"/proxy/a%2fb/", "", false, false},
		{"/proxy/a:80/x:y", "a:80", true, false},
		{"/proxy/1.trial:65535", "1.trial:65535", false, false},
		{"/proxy/a:80/../b", "", true, true},
		{"/proxy/a:/", "", false, false},
		{"/proxy/a:0/", "", false, false},
		{"/proxy/a:080/", "", false, false},
		{"/proxy/a:+80/", "", false, false},
		{"/proxy/a:65536/", "", false, false},
		{"/proxy/a:80:81/", "", false, false},
		{"/proxy/a%3A80/", "", false, false},
		{"/proxy/:80/", "", false, false},
		{"/proxy/a b/", "", false, false},
		{"/proxy/" + strings.Repeat("a", maxID+1) + "/", "", false, false},
		{"/proxy/x/..", "", true, true},
		{"/proxy/x/./y", "", true, true},
		{"/proxy/x/%2e%2E/y", "", true, true},
		{"/proxy/x/%252e%252e/y", "", true, true},
		{"/proxy/x/..%2fy", "", true, true},
		{"/proxy/x/a%5c..%5cb", "", true, true},
		{"/proxy/x/..;a=b/y", "", true, true},
	} {
		at, slash, err := serviceOf(c.path)
		id := strings.TrimSuffix(strings.TrimPrefix(at.base(), "/proxy/"), "/")
		if id != c.id || errors.Is(err, errDots) != c.dots || (err == nil) != (c.id != "") || err == nil && slash != c.slash {
			t.Errorf("%s: %q %v %v", c.path, id, slash, err)
		}
	}
}

// FuzzServiceOf holds that a path which leads to a task leads to that one by every
// reader: raw, decoded, cleaned, or both.
func FuzzServiceOf(f *testing.F) {
	for _, seed := range []string{"/proxy/a/", "/proxy/a/../b/", "/proxy/a/%2e%2e/b", "/proxy/a%2f..%2fb/", "/proxy/a:80/b", "/proxy/a/b%00c", "//x/proxy/a/", "/proxy/a\\..\\b/", "/proxy/a/%25252e./x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := url.ParseRequestURI(raw)
		if err != nil || !strings.HasPrefix(raw, "/") {
			return
		}
		at, _, err := serviceOf(u.EscapedPath())
		if err != nil {
			return
		}
		id := at.task
		if !goodID(id) || strings.ContainsAny(id, "/\\%?#:@; ") {
			t.Fatalf("%q gives the id %q", raw, id)
		}
		want := strings.TrimSuffix(at.base(), "/")
		once, err := url.PathUnescape(u.EscapedPath())
		if err != nil {
			t.Fatalf("%q cannot be decoded", raw)
		}
		twice, err := url.PathUnescape(once)
		if err != nil {
			twice = once
		}
		for _, read := range []string{u.EscapedPath(), once, twice, strings.ReplaceAll(twice, "\\", "/")} {
			if p := path.Clean(read); p != want && !strings.HasPrefix(p, want+"/") {
				t.Fatalf("%q is of task %s, and %q to another reader", raw, id, p)
			}
		}
	})
}

func TestTakeTicket(t *testing.T) {
	for _, c := range []struct {
		raw, ticket, rest string
		carried           bool
	}{
		{"", "", "", false}, {"a=1&b=%2F", "", "a=1&b=%2F", false}, {"det-ticket=x", "x", "", true}, {"det-ticket=x&a=1;b", "x", "a=1;b", true},
		{"a=1&det-ticket=x&b", "x", "a=1&b", true}, {"my-det-ticket=x", "", "my-det-ticket=x", false}, {"det-ticket=x&det-ticket=y", "y", "", true},
	} {
		ticket, rest, carried := takeParameter(c.raw, ticketField)
		if ticket != c.ticket || rest != c.rest || carried != c.carried {
			t.Errorf("%q: %q %q %v", c.raw, ticket, rest, carried)
		}
	}
}

func TestAsTornado(t *testing.T) {
	for _, c := range []struct{ cookie, header, wantCookie, wantHeader string }{
		{"", "", "_xsrf=program", "program"},
		{"username-x=a; b=c", "", "username-x=a; b=c; _xsrf=program", "program"},
		{"_xsrf=2|a|b", "", "_xsrf=2|a|b", "2|a|b"},
		{"_xsrf=x", "y", "_xsrf=x", "y"},
	} {
		h := http.Header{}
		if c.cookie != "" {
			h.Set("Cookie", c.cookie)
		}
		if c.header != "" {
			h.Set("X-XSRFToken", c.header)
		}
		asTornado(h)
		if got := h.Values("Cookie"); len(got) != 1 || got[0] != c.wantCookie || h.Get("X-XSRFToken") != c.wantHeader {
			t.Errorf("%+v: %v", c, h)
		}
	}
}

func TestTakeToken(t *testing.T) {
	for _, c := range []struct{ raw, token, rest string }{
		{"token=det.x&a=1", "det.x", "a=1"}, {"a=%2F&%74oken=det%2Ey", "det.y", "a=%2F"}, {"token=theirs", "", "token=theirs"},
		{"token=det.x&token=other", "det.x", "token=other"}, {"tokens=det.x", "", "tokens=det.x"}, {"token=%zz", "", "token=%zz"}, {"", "", ""},
	} {
		if token, rest, carried := takeToken(c.raw); token != c.token || rest != c.rest || carried != (c.token != "") {
			t.Errorf("%q: %q %q %v", c.raw, token, rest, carried)
		}
	}
}
