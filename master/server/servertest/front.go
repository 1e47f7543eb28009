package servertest

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
)

// A Front is a proxy in front of the master that records the clients' requests.
type Front struct {
	server *httptest.Server
	onward *http.Transport

	mu     sync.Mutex
	calls  []string
	bodies map[string][]byte
	answer func(http.ResponseWriter, *http.Request) bool
}

func newFront(master string) *Front {
	target, err := url.Parse(master)
	if err != nil {
		panic(err)
	}
	f := &Front{onward: &http.Transport{MaxIdleConnsPerHost: 8}, bodies: map[string][]byte{}}
	pass := &httputil.ReverseProxy{Transport: f.onward, FlushInterval: -1, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
		}}
	f.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has disconnected
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if answer := f.note(r, body); answer == nil || !answer(w, r) {
			pass.ServeHTTP(w, r)
		}
	}))
	return f
}

func (f *Front) close() {
	f.server.Close()
	f.onward.CloseIdleConnections()
}

// note records a request, and returns the function that may answer it before the master.
func (f *Front) note(r *http.Request, body []byte) func(http.ResponseWriter, *http.Request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, r.Method+" "+r.URL.RequestURI())
	if len(body) > 0 {
		f.bodies[r.Method+" "+r.URL.Path] = body
	}
	return f.answer
}

// Answer registers fn, which is called before the master. If fn returns true, it has answered
// the request itself.
func (f *Front) Answer(fn func(http.ResponseWriter, *http.Request) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = fn
}

// Calls returns the requests so far: method, path, query.
func (f *Front) Calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// Body returns the last body of a call, such as "POST /api/v1/experiments".
func (f *Front) Body(call string) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.bodies[call]
}
