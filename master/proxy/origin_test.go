package proxy

import (
	"net/http"
	"testing"
)

func TestForeign(t *testing.T) {
	o := Origins{Master: "http://m:8080", URL: "http://m:8081"}
	for _, c := range []struct {
		what, method, site, mode, dest, origin, upgrade string
		foreign                                         bool
	}{
		{what: "typed", method: "GET", site: "none"},
		{what: "its own", method: "PUT", site: "same-origin", origin: "http://m:8081"},
		{what: "old browser reading", method: "GET"},
		{what: "old browser writing", method: "DELETE", foreign: true},
		{what: "old browser writing, with its origin", method: "DELETE", origin: "http://m:8081"},
		{what: "behind a proxy that changes the host", method: "POST", origin: "http://m:8081"},
		{what: "the API's page", method: "GET", site: "same-site", mode: "cors", foreign: true},
		{what: "a link", method: "GET", site: "cross-site", mode: "navigate", dest: "document"},
		{what: "a frame", method: "GET", site: "cross-site", mode: "navigate", dest: "iframe", foreign: true},
		{what: "a form", method: "POST", site: "cross-site", mode: "navigate", dest: "document", foreign: true},
		{what: "lies about its site", method: "GET", site: "same-origin", origin: "http://evil", foreign: true},
		{what: "socket", method: "GET", upgrade: "websocket", site: "same-origin", origin: "http://m:8081"},
		{what: "socket of an old browser", method: "GET", upgrade: "websocket", origin: "http://m:8081"},
		{what: "socket from nowhere", method: "GET", upgrade: "websocket", foreign: true},
		{what: "socket typed", method: "GET", upgrade: "websocket", site: "none", foreign: true},
		{what: "socket elsewhere", method: "GET", upgrade: "websocket", origin: "http://m:8080", foreign: true},
	} {
		r := &http.Request{Method: c.method, Host: "m:8081", Header: http.Header{}}
		for k, v := range map[string]string{"Sec-Fetch-Site": c.site, "Sec-Fetch-Mode": c.mode, "Sec-Fetch-Dest": c.dest, "Origin": c.origin, "Upgrade": c.upgrade} {
			if v != "" {
				r.Header.Set(k, v)
			}
		}
		if c.upgrade != "" {
			r.Header.Set("Connection", "keep-alive, upgrade")
		}
		if c.what == "behind a proxy that changes the host" {
			r.Host = "inside:1"
		}
		if o.foreign(r, "x") != c.foreign {
			t.Errorf("%s: foreign is not %v", c.what, c.foreign)
		}
	}
}

func TestOrigins(t *testing.T) {
	for _, c := range []struct {
		o    Origins
		good bool
	}{
		{Origins{Master: "http://m:1", URL: "http://m:2"}, true}, {Origins{Master: "http://m:1"}, true}, {Origins{Master: "http://m:1", URL: "http://m:1"}, false},
		{Origins{Master: "http://m:1", URL: "HTTP://M:1"}, false}, {Origins{Master: "http://m:1", URL: "m:2"}, false}, {Origins{Master: "http://m:1", URL: "http://m:2/x"}, false},
	} {
		if err := c.o.check(); (err == nil) != c.good {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
	o := Origins{Master: "https://m.example.com", Domain: "T.example.com:8443"}
	if got := o.of("1.Trial_x"); got != "https://1-trial-x.T.example.com:8443" {
		t.Error(got)
	}
	if !o.fits("1-TRIAL-x.t.example.com", "1.Trial_x") || o.fits("other.t.example.com", "1.Trial_x") || o.fits("t.example.com", "1.Trial_x") || !o.secure("x") {
		t.Error("fits or secure is wrong for hosts within the domain")
	}
}
