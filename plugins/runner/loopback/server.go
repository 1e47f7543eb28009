// Package loopback is a task's master: an address on 127.0.0.1 that forwards every request to a
// master that answers.
//
// A program in a task receives this address as DET_MASTER. While no master answers, its
// requests are held and repeated, for hours if necessary, so that a training does not notice
// that a master moved, was upgraded or lost its database. To repeat a request, its body is
// stored, in memory if it is small, or else in an unlinked file. Three kinds of requests are
// special:
//
//   - The preemption signal is asked for with a time limit that its client
//     enforces; it is answered "not preempted" here when no master answers in time.
//   - Requests that make something new each time they arrive (an experiment, a
//     command) are sent again only when they certainly never arrived.
//   - Upgrades (WebSocket) become a plain tunnel once a master accepts them.
//
// No credentials are added to a request: a program signs in with the tokens of its task or of
// other users, or with a username and a password. On the network of a node, every process of
// the node can reach this address; so a request without credentials stays without, and requests
// without a token of the task share a small part of the space. The server runs as long as the
// task, and only this machine can reach it.
package loopback

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/attempts/leftover"
	"github.com/detent-ml/detent/master/tunnel"
	"github.com/detent-ml/detent/plugins/runner/callers"
	"github.com/detent-ml/detent/plugins/runner/masters"
)

// Config configures a Server and its limits. Zero means the default.
type Config struct {
	Masters   *masters.List
	Tokens    []string      // of the task itself
	SpillDir  string        // folder for bodies that are too large for memory
	Hold      time.Duration // how long a request waits for a master; default leftover.Hold
	MaxHeld   int           // requests at once; default 1024
	InMemory  int64         // of one body, default 1 MiB; the rest goes to disk
	MaxBody   int64         // of one request; default 2 GiB, which is the limit of files that MLflow's client sends
	MaxBodies int64         // of all requests on disk together; default 4 GiB
	Patience  time.Duration // how long a master may take to begin an answer; default 90 s

	BodyWithin time.Duration // how long a body may take to arrive, without a token of the task; default 1 min
}

func (c Config) withDefaults() Config {
	pick := func(v, d int64) int64 {
		if v > 0 {
			return v
		}
		return d
	}
	c.Hold = time.Duration(pick(int64(c.Hold), int64(leftover.Hold)))
	c.MaxHeld = int(pick(int64(c.MaxHeld), 1024))
	c.InMemory = pick(c.InMemory, 1<<20)
	c.MaxBody = pick(c.MaxBody, 2<<30)
	c.MaxBodies = pick(c.MaxBodies, 4<<30)
	c.Patience = time.Duration(pick(int64(c.Patience), int64(90*time.Second)))
	c.BodyWithin = time.Duration(pick(int64(c.BodyWithin), int64(time.Minute)))
	return c
}

// A Server is a running loopback master.
type Server struct {
	cfg    Config
	ln     net.Listener
	http   *http.Server
	slots  chan struct{}
	others chan struct{} // requests without a token of the task
	holder *holder
	cancel context.CancelFunc
	done   chan struct{}
}

// Listen starts a Server on a free port of 127.0.0.1.
func Listen(cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	ctx, cancel := context.WithCancel(context.Background())
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		cancel()
		return nil, fmt.Errorf("the runner cannot listen on loopback: %w", err)
	}
	s := &Server{cfg: cfg, ln: ln, slots: make(chan struct{}, cfg.MaxHeld), others: make(chan struct{}, maxOthers), holder: newHolder(cfg), cancel: cancel, done: make(chan struct{})}
	passer := &httputil.ReverseProxy{
		Rewrite:       s.rewrite,
		Transport:     s.holder,
		FlushInterval: -1,
		BufferPool:    &tunnel.Buffers{},
		ErrorHandler:  explain,
		ErrorLog:      slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // every error reaches the client
	}
	s.http = &http.Server{
		Handler:           s.admit(passer),
		ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext:       callers.With,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(callers.Limit(ln, callers.Limits{}))
	}()
	return s, nil
}

// addressHeader says to the master at which address the program has reached it: MLflow's client asks the master for addresses.
const addressHeader = "X-Detent-Address"

// rewrite changes a request before it is sent. The holder chooses the master for each try.
func (s *Server) rewrite(r *httputil.ProxyRequest) { r.Out.Header.Set(addressHeader, s.URL()) }

// URL is the address to give to the program.
func (s *Server) URL() string { return "http://" + s.ln.Addr().String() }

// Port is the port of that address.
func (s *Server) Port() int { return s.ln.Addr().(*net.TCPAddr).Port }

// Close ends the server and every request that it holds.
func (s *Server) Close() {
	s.cancel()
	_ = s.http.Close()
	<-s.done
}

// Limits of requests without a token of the task.
const (
	maxOthers      = 64       // at once
	maxBare        = 1 << 20  // bytes of a body, without any credentials
	maxOtherMemory = 64 << 10 // bytes of a body in memory
	maxOtherBodies = 64 << 20 // bytes of all bodies on disk together
)

// admit rejects requests above the limits.
func (s *Server) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn := callers.Of(r.Context())
		if s.knows(r) {
			conn.Known()
			if !enter(s.slots) {
				full(w, s.slots)
				return
			}
			defer leave(s.slots)
			next.ServeHTTP(w, r)
			return
		}
		if len(credentials(r)) == 0 {
			if r.ContentLength > maxBare {
				w.Header().Set("Connection", "close")
				fail(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has %d bytes; without credentials at most %d are accepted", r.ContentLength, maxBare))
				return
			}
			r.Body = http.MaxBytesReader(w, r.Body, maxBare)
		}
		if !enter(s.others) {
			w.Header().Set("Connection", "close")
			full(w, s.others)
			return
		}
		defer leave(s.others)
		conn.Serve()
		defer conn.Wait()
		if r.ContentLength != 0 {
			r.Body = timely(r.Body, http.NewResponseController(w).SetReadDeadline, s.cfg.BodyWithin)
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), otherKey{}, true)))
	})
}

// otherKey is the key of requests without a token of the task.
type otherKey struct{}

func enter(room chan struct{}) bool {
	select {
	case room <- struct{}{}:
		return true
	default:
		return false
	}
}

func leave(room chan struct{}) { <-room }

func full(w http.ResponseWriter, room chan struct{}) {
	w.Header().Set("Retry-After", "1")
	fail(w, http.StatusServiceUnavailable, fmt.Sprintf("%d requests of this task already wait for a master; no more are accepted", cap(room)))
}

// credentials are the tokens in a request.
func credentials(r *http.Request) []string {
	var list []string
	for _, name := range []string{masters.TokenHeader, "X-Allocation-Token", "Authorization", "X-User-Token", "Grpc-Metadata-X-User-Token"} {
		shown := r.Header.Get(name)
		if scheme, rest, ok := strings.Cut(shown, " "); ok && (strings.EqualFold(scheme, "bearer") || strings.EqualFold(scheme, "token")) {
			shown = strings.TrimSpace(rest)
		}
		if shown != "" {
			list = append(list, shown)
		}
	}
	return list
}

// knows reports whether a request has one of the task's own tokens.
func (s *Server) knows(r *http.Request) bool {
	for _, shown := range credentials(r) {
		for _, token := range s.cfg.Tokens {
			if token != "" && subtle.ConstantTimeCompare([]byte(shown), []byte(token)) == 1 {
				return true
			}
		}
	}
	return false
}

// explain answers a request that no master answered.
func explain(w http.ResponseWriter, r *http.Request, err error) {
	var large *tooLargeError
	var bare *http.MaxBytesError
	switch {
	case errors.Is(err, errLate): // net/http ends the context, too
		fail(w, http.StatusRequestTimeout, err.Error())
	case r.Context().Err() != nil:
		return // the client has disconnected
	case errors.As(err, &large), errors.As(err, &bare):
		fail(w, http.StatusRequestEntityTooLarge, err.Error())
	case errors.Is(err, errNoRoom):
		w.Header().Set("Retry-After", "1")
		fail(w, http.StatusServiceUnavailable, err.Error())
	default:
		fail(w, http.StatusBadGateway, "no master answered: "+err.Error())
	}
}

// fail writes an error in the form of a master.
func fail(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, "{\"message\":%s}\n", quoted(message))
}
