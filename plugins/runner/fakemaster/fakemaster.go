// Package fakemaster is a master for tests of the runner: a real HTTP server on loopback that
// keeps its state when it stops and starts, as masters do with their database, and that can
// lose answers, refuse requests, and be unavailable.
package fakemaster

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/v1/v1test"
)

// Token is the token in the answer to every claim.
const Token = "det.secret-of-the-attempt"

// A State is what several masters share, like the database.
type State struct {
	mu        sync.Mutex
	spec      v1.TaskSpec
	refusal   string
	claims    []v1.ClaimRequest
	nonce     map[int]string
	lines     map[string][]v1.LogLine // by shipper; the first line has number 0
	gaps      map[string][]int64      // numbers that were skipped
	done      map[string]bool
	batches   int
	exits     []v1.MemberExitRequest
	arrived   map[int]v1.ClaimRequest
	files     map[string][]byte
	public    map[string]bool // of the files
	seen      []Seen
	preempt   bool
	loseEvery int // every n-th answer is lost after the request was executed
	answered  int
	unready   bool // answer 503, as without a database
	handler   http.Handler
	mux       *http.ServeMux
	over      chan struct{} // closed when the attempt must end
	why       string
	preempted chan struct{} // closed when the attempt is preempted
	signal    bool          // it is decided that a signal preempts it
	spared    bool          // it is decided that none does
	watches   int           // how often a runner asked whether it is preempted
	settled   bool          // a runner watches that does not want to know of a preemption any more
}

// Seen is a request that the fake does not handle.
type Seen struct {
	Method, Path, Token, Body string
	Header                    http.Header
}

// NewState makes a State whose task is spec.
func NewState(spec v1.TaskSpec) *State {
	s := &State{spec: spec, nonce: map[int]string{}, lines: map[string][]v1.LogLine{}, gaps: map[string][]int64{},
		done: map[string]bool{}, arrived: map[int]v1.ClaimRequest{}, files: map[string][]byte{}, public: map[string]bool{}, over: make(chan struct{}), preempted: make(chan struct{})}
	s.endpoints()
	return s
}

// Task sets another task, before a runner claims it.
func (s *State) Task(spec v1.TaskSpec) { s.with(func() { s.spec = spec }) }

// Refuse makes the master reject claims.
func (s *State) Refuse(why string) { s.with(func() { s.refusal = why }) }

// Serve makes the master answer a path with content.
func (s *State) Serve(path string, content []byte) { s.with(func() { s.files[path] = content }) }

// ServeAnybody is Serve for callers without a token too.
func (s *State) ServeAnybody(path string, content []byte) {
	s.with(func() { s.files[path], s.public[path] = content, true })
}

// Preempt sets the answer of the preemption signal.
func (s *State) Preempt(yes bool) { s.with(func() { s.preempt = yes }) }

// Unready makes every answer a 503, or stops that.
func (s *State) Unready(yes bool) { s.with(func() { s.unready = yes }) }

// LoseEvery loses every n-th answer after its request has been executed.
func (s *State) LoseEvery(n int) { s.with(func() { s.loseEvery = n }) }

// Handle sets the answer to requests that the fake does not handle.
func (s *State) Handle(h http.Handler) { s.with(func() { s.handler = h }) }

// End tells watching runners that their attempt must end.
func (s *State) End(why string) {
	s.with(func() { s.why = why })
	close(s.over)
}

// PreemptFor tells watching runners that their attempt is preempted. Decide decides about the signal.
func (s *State) PreemptFor(why string) {
	s.with(func() { s.why = why })
	close(s.preempted)
}

// Decide decides whether a signal preempts the program.
func (s *State) Decide(signal bool) { s.with(func() { s.signal, s.spared = signal, !signal }) }

// Settled reports whether a runner has decided about the signal of a preemption.
func (s *State) Settled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settled
}

// awaitsPreemption returns the channel that ends a watch at a preemption; nil if the runner does not want to know.
func (s *State) awaitsPreemption(r *http.Request) chan struct{} {
	if r.URL.Query().Get("preemption") != "true" {
		s.with(func() { s.settled = true })
		return nil
	}
	s.with(func() { s.watches++ })
	return s.preempted
}

// Watches is how often a runner has asked whether its attempt is preempted.
func (s *State) Watches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watches
}

func (s *State) with(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// Claims lists the accepted claims.
func (s *State) Claims() []v1.ClaimRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]v1.ClaimRequest(nil), s.claims...)
}

// Exits lists the exit reports.
func (s *State) Exits() []v1.MemberExitRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]v1.MemberExitRequest(nil), s.exits...)
}

// Lines lists the lines of a shipper from one source; "" for all.
func (s *State) Lines(shipper, source string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, l := range s.lines[shipper] {
		if source == "" || l.Source == source {
			out = append(out, l.Log)
		}
	}
	return out
}

// Wire lists the lines of a shipper with all their fields.
func (s *State) Wire(shipper string) []v1.LogLine {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]v1.LogLine(nil), s.lines[shipper]...)
}

// Done reports whether a shipper has said that it sends no more lines.
func (s *State) Done(shipper string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done[shipper]
}

// Gaps lists the numbers that a shipper has skipped.
func (s *State) Gaps(shipper string) []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gaps[shipper]
}

// Seen lists the other requests.
func (s *State) Seen() []Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Seen(nil), s.seen...)
}

// A Master is one server over a State.
type Master struct {
	State *State
	addr  string
	ln    net.Listener
	srv   *http.Server
}

// New makes a Master with its own address, which does not listen yet.
func New(t testing.TB, s *State) *Master {
	t.Helper()
	// The port is not one that the system gives to connections: while the master is stopped, a
	// connection could take it, even one to the master itself.
	var lc net.ListenConfig
	for range 100 {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(10_000+rand.IntN(20_000)))
		ln, err := lc.Listen(t.Context(), "tcp", addr)
		if err != nil {
			continue
		}
		_ = ln.Close()
		m := &Master{State: s, addr: addr}
		t.Cleanup(m.Stop)
		return m
	}
	t.Fatal("no port is free")
	return nil
}

// Start makes a Master that listens.
func Start(t testing.TB, s *State) *Master {
	t.Helper()
	m := New(t, s)
	m.Listen(t)
	return m
}

// URL is the master's address.
func (m *Master) URL() string { return "http://" + m.addr }

// Listen starts serving.
func (m *Master) Listen(t testing.TB) {
	t.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", m.addr)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: m, ReadHeaderTimeout: time.Minute}
	m.ln, m.srv = ln, srv
	go func() { _ = srv.Serve(ln) }()
}

// Stop stops serving at once, and aborts requests.
func (m *Master) Stop() {
	if m.srv != nil {
		_ = m.ln.Close() // the server may not have begun to use it
		_ = m.srv.Close()
		m.srv = nil
	}
}

// ServeHTTP answers one request.
func (m *Master) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := m.State
	body, err := read(r)
	if err != nil {
		return
	}
	s.mu.Lock()
	unready, handler := s.unready, s.handler
	s.mu.Unlock()
	if unready {
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, "the database is away")
		return
	}
	if isWatch(r) {
		select {
		case <-r.Context().Done():
		case <-s.over:
			s.mu.Lock()
			answer := send(v1.WatchResponse{Over: true, Why: s.why})
			s.mu.Unlock()
			answer(w)
		case <-s.awaitsPreemption(r):
			s.mu.Lock()
			answer := send(v1.WatchResponse{Preempt: true, Signal: s.signal, Spared: s.spared, Why: s.why})
			s.mu.Unlock()
			answer(w)
		}
		return
	}
	answer, known := s.route(r, body)
	if !known && handler != nil {
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		handler.ServeHTTP(w, r)
		return
	}
	s.mu.Lock()
	s.answered++
	lose := s.loseEvery > 0 && s.answered%s.loseEvery == 0
	s.mu.Unlock()
	if lose {
		if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
			_ = c.Close()
		}
		return
	}
	answer(w)
}

// isWatch reports whether a request is a watch.
func isWatch(r *http.Request) bool {
	mux := http.NewServeMux()
	mux.Handle(v1test.Pattern(v1.WatchAllocation.Line()), http.NotFoundHandler())
	_, pattern := mux.Handler(r)
	return pattern != ""
}

func read(r *http.Request) ([]byte, error) {
	if r.Header.Get("Content-Encoding") != "gzip" {
		return io.ReadAll(r.Body)
	}
	z, err := gzip.NewReader(r.Body)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"code":9,"reason":"x","error":%q}}`, message)
}

func send(message any) answer {
	return func(w http.ResponseWriter) {
		b, err := v1.Marshal(message)
		if err != nil {
			panic(err)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(b)
	}
}

func no(status int, format string, args ...any) answer {
	return func(w http.ResponseWriter) { refuse(w, status, fmt.Sprintf(format, args...)) }
}

// An answer writes the response to a request.
type answer func(http.ResponseWriter)

// on handles a request of an endpoint. The State is locked.
func on[Req, Resp any](s *State, e v1.Endpoint[Req, Resp], do func(r *http.Request, body []byte) answer) {
	s.mux.HandleFunc(v1test.Pattern(e.Line()), func(w http.ResponseWriter, r *http.Request) {
		if e.Access != v1.Public && tokenOf(r) != Token {
			no(http.StatusUnauthorized, "who are you?")(w)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			no(http.StatusBadRequest, "%v", err)(w)
			return
		}
		do(r, body)(w)
	})
}

func (s *State) endpoints() {
	s.mux = http.NewServeMux()
	on(s, v1.ClaimAllocation, func(_ *http.Request, body []byte) answer { return s.claim(body) })
	on(s, v1.ShipLogs, func(_ *http.Request, body []byte) answer { return s.logs(body) })
	on(s, v1.ReportMemberExit, func(_ *http.Request, body []byte) answer { return s.exit(body) })
	on(s, v1.MemberRendezvous, func(r *http.Request, _ []byte) answer { return s.rendezvous(r.PathValue("rank")) })
	on(s, v1.AwaitPreemption, func(*http.Request, []byte) answer { return send(v1.PreemptionSignalResponse{Preempt: s.preempt}) })
}

func tokenOf(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Grpc-Metadata-X-Allocation-Token"), "Bearer ")
}

// route executes a request and returns its answer; known is false if the fake does not handle
// it.
func (s *State) route(r *http.Request, body []byte) (_ answer, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if content, ok := s.files[r.URL.Path]; ok {
		if tokenOf(r) != Token && !s.public[r.URL.Path] {
			return no(401, "who are you?"), true
		}
		return func(w http.ResponseWriter) { _, _ = w.Write(content) }, true
	}
	if _, pattern := s.mux.Handler(r); pattern == "" {
		s.seen = append(s.seen, Seen{Method: r.Method, Path: r.URL.RequestURI(), Token: tokenOf(r), Body: string(body), Header: r.Header.Clone()})
		return func(w http.ResponseWriter) { _, _ = w.Write([]byte("{}")) }, false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	rec := httptest.NewRecorder()
	s.mux.ServeHTTP(rec, r)
	return func(w http.ResponseWriter) {
		maps.Copy(w.Header(), rec.Header())
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes())
	}, true
}

func (s *State) exit(body []byte) answer {
	var req v1.MemberExitRequest
	if err := v1.Unmarshal(body, &req); err != nil {
		return no(400, "%v", err)
	}
	s.exits = append(s.exits, req)
	return send(v1.LogBatchResponse{})
}

func (s *State) claim(body []byte) answer {
	var req v1.ClaimRequest
	if err := v1.Unmarshal(body, &req); err != nil {
		return no(400, "%v", err)
	}
	if s.refusal != "" {
		return no(409, "%s", s.refusal)
	}
	if had := s.nonce[req.Rank]; had != "" && had != req.Nonce {
		return no(409, "another runner process has claimed rank %d already", req.Rank)
	}
	s.nonce[req.Rank] = req.Nonce
	s.claims = append(s.claims, req)
	spec := s.spec
	spec.Rank = req.Rank
	return send(v1.ClaimResponse{Token: Token, Spec: spec})
}

// logs is the endpoint that stores lines.
func (s *State) logs(body []byte) answer {
	var b v1.LogBatch
	if err := v1.Unmarshal(body, &b); err != nil {
		return no(400, "%v", err)
	}
	return send(v1.LogBatchResponse{Next: s.take(b)})
}

// Take stores the lines of a batch as the endpoint does.
func (s *State) Take(b v1.LogBatch) { s.with(func() { s.take(b) }) }

// take stores the lines that are not there yet, and returns the number of the next one.
func (s *State) take(b v1.LogBatch) int64 {
	s.batches++
	next := int64(len(s.lines[b.Shipper])) + int64(len(s.gaps[b.Shipper]))
	for n := next; n < b.First && len(b.Lines) > 0; n++ {
		s.gaps[b.Shipper] = append(s.gaps[b.Shipper], n)
		next++
	}
	for i, l := range b.Lines {
		if b.First+int64(i) >= next {
			s.lines[b.Shipper] = append(s.lines[b.Shipper], l)
			next++
		}
	}
	if b.Done {
		s.done[b.Shipper] = true
	}
	return next
}

func (s *State) rendezvous(rank string) answer {
	n, err := strconv.Atoi(rank)
	if err != nil {
		return no(400, "%v", err)
	}
	for _, c := range s.claims {
		if c.Rank == n {
			s.arrived[n] = c
		}
	}
	if len(s.arrived) < s.spec.Members {
		return send(v1.MemberRendezvousResponse{Waiting: fmt.Sprintf("%d members", s.spec.Members-len(s.arrived))})
	}
	out := v1.MemberRendezvousResponse{Ready: true}
	for i := range s.spec.Members {
		c := s.arrived[i]
		out.Addresses = append(out.Addresses, c.Address)
		out.Slots = append(out.Slots, s.spec.Slots)
		out.Ports = append(out.Ports, c.Ports)
	}
	return send(out)
}
