//go:build linux

package gateway

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/detent-ml/detent/master/proxy/headers"
	"github.com/detent-ml/detent/master/tunnel"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/callers"
)

// maxHeader is the maximum size of a request's header, which callers without the secret may send, too.
const maxHeader = 64 << 10

// A Server is a runner's gateway.
type Server struct {
	ln      net.Listener
	http    *http.Server
	backend atomic.Pointer[backend]

	// open ends when the gateway closes, and with it the tunnels, which the HTTP server no longer tracks.
	open  context.Context
	close context.CancelFunc
}

// A backend is the task's program. Only requests with the secret reach it.
type backend struct {
	secret [32]byte // hash of the secret, so that comparing takes the same time for any length
	spec   v1.Gateway
	dial   Dialer          // to the program of a task of its type; nil for none
	ways   map[string]*way // by the prefix of their paths, without the last slash
	use    *use
	visits *visits // of an ingress
}

// A way leads to the program: to its socket, or to a port that the configuration declares.
type way struct {
	base    string // the prefix of its paths, without the last slash
	kind    v1.GatewayKind
	port    bool
	dial    Dialer
	reverse *httputil.ReverseProxy
}

// A Dialer connects to the program.
type Dialer func(ctx context.Context) (net.Conn, error)

// A PortDialer connects to a port of the program.
type PortDialer func(ctx context.Context, port int) (net.Conn, error)

// Listen starts a gateway that answers health checks, and that uses the certificate for TLS
// connections.
func Listen(ctx context.Context, address string, certificate *Certificate) (*Server, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	s := &Server{ln: &listener{Listener: callers.Limit(ln, callers.Limits{}), conf: certificate.config()}}
	s.open, s.close = context.WithCancel(context.WithoutCancel(ctx))
	s.http = &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: maxHeader,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return callers.With(ctx, c.(*either).Conn) },
		ErrorLog:    slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	go func() { _ = s.http.Serve(s.ln) }() // until Close
	return s, nil
}

// Address is the address on which the gateway listens.
func (s *Server) Address() string { return s.ln.Addr().String() }

// Close ends the gateway and all its connections.
func (s *Server) Close() {
	s.close()
	_ = s.http.Close()
	_ = s.ln.Close() // the server may not use it yet
}

// Open opens the gateway to clients. A task without a secret, or with nothing to open, stays
// closed.
func (s *Server) Open(spec v1.Gateway, dial Dialer, ports PortDialer) {
	b := &backend{secret: sha256.Sum256([]byte(spec.Secret)), spec: spec, dial: dial, ways: map[string]*way{}, use: newUse(time.Now()), visits: newVisits()}
	base := strings.TrimSuffix(spec.BasePath, "/")
	if spec.Kind != v1.GatewayOfNone {
		b.ways[base] = newWay(base, spec.Kind, false, dial)
	}
	for _, p := range spec.Ports {
		connect := func(ctx context.Context) (net.Conn, error) { return ports(ctx, p.Port) }
		at := base + ":" + strconv.Itoa(p.Port)
		b.ways[at] = newWay(at, p.Kind, true, connect)
		if p.Default && spec.Kind == v1.GatewayOfNone {
			b.ways[base] = newWay(base, p.Kind, true, connect)
		}
	}
	if len(b.ways) > 0 && spec.Secret != "" {
		s.backend.Store(b)
	}
}

// way finds the way for a path; nil for none. The path must contain the port unencoded, so that the
// master and this process choose the same way.
func (b *backend) way(path string) *way {
	rest, ok := strings.CutPrefix(path, "/proxy/")
	if !ok {
		return nil
	}
	name, _, slash := strings.Cut(rest, "/")
	if !slash {
		return nil
	}
	return b.ways["/proxy/"+name]
}

// ServeHTTP answers health checks without the secret, and everything else with the secret or with
// a grant for the request. It refuses all other requests.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	shown := r.Header.Values(v1.GatewayHeader)
	if len(shown) == 0 && r.URL.Path == "/health" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		w.Header().Set("Connection", "close")
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintln(w, `{"status":"running"}`)
		return
	}
	b := s.backend.Load()
	visitor, admitted := "", false
	if b != nil && len(shown) == 1 {
		visitor, admitted = b.admit(r, shown[0])
	}
	if !admitted {
		w.Header().Set("Connection", "close")
		http.Error(w, "closed", http.StatusForbidden)
		return
	}
	callers.Of(r.Context()).Known()
	r.Header.Del(v1.GatewayHeader)
	to := b.way(r.URL.EscapedPath())
	if to == nil {
		mark(w.Header(), v1.GatewayOpen)
		http.Error(w, "there is nothing at this path", http.StatusNotFound)
		return
	}
	defer b.use.begin()()
	asked, open := tunnel.Asked(r.Header), s.open
	if visitor != "" {
		var end func()
		var err error
		if r, open, end, err = b.visit(r, s.open, to, visitor); err != nil {
			http.Error(w, err.Error(), http.StatusTooManyRequests)
			return
		}
		defer end()
	}
	switch {
	case visitor == "" && (to.kind != v1.GatewayOfHTTP || to.port) && asked == v1.GatewayTunnel:
		to.tunnel(open, w) //nolint:contextcheck // a hijacked connection ends with the gateway, not with the request
	case to.kind != v1.GatewayOfHTTP || asked == v1.GatewayTunnel:
		mark(w.Header(), v1.GatewayOpen)
		http.Error(w, "this task does not support that protocol", http.StatusBadRequest)
	case asked != "":
		to.upgrade(open, w, r, asked) //nolint:contextcheck // a hijacked connection ends with the gateway, not with the request
	default:
		to.reverse.ServeHTTP(headers.FinalAnswers{ResponseWriter: w}, r)
	}
}

func (b *backend) knows(secret string) bool {
	hash := sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(hash[:], b.secret[:]) == 1
}

// mark sets the header that tells which process answered. The program's own value of this
// header is removed.
func mark(h http.Header, who string) { h.Set(v1.GatewayHeader, who) }

func newWay(base string, kind v1.GatewayKind, port bool, dial Dialer) *way {
	return &way{base: base, kind: kind, port: port, dial: dial, reverse: newReverse(dial)}
}

func newReverse(dial Dialer) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport: &http.Transport{
			DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
			MaxIdleConnsPerHost: 32, IdleConnTimeout: 30 * time.Second, DisableCompression: true, ExpectContinueTimeout: time.Second,
			MaxResponseHeaderBytes: 256 << 10,
		},
		FlushInterval: -1,
		BufferPool:    &tunnel.Buffers{},
		ErrorLog:      slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		Rewrite: func(pr *httputil.ProxyRequest) {
			aim(pr.Out.URL, pr.In.URL)
			pr.Out.Host = pr.In.Host
			for field, values := range pr.In.Header { // the master's headers about the client
				if strings.HasPrefix(field, "X-Forwarded-") {
					pr.Out.Header[field] = values
				}
			}
		},
		ModifyResponse: func(resp *http.Response) error {
			mark(resp.Header, v1.GatewayOpen)
			passageOf(resp.Request).leave(resp.Header)
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, _ error) { starting(w) },
	}
}

// starting answers requests while the program does not answer yet.
func starting(w http.ResponseWriter) {
	mark(w.Header(), v1.GatewayStarting)
	http.Error(w, "the program does not answer", http.StatusServiceUnavailable)
}

// aim sets the target, and keeps path and query unchanged.
func aim(out, in *url.URL) {
	*out = url.URL{Scheme: "http", Host: "task", Path: in.Path, RawPath: in.RawPath, RawQuery: in.RawQuery, ForceQuery: in.ForceQuery}
}

// tunnel copies bytes between the client and the program.
func (to *way) tunnel(open context.Context, w http.ResponseWriter) {
	program, err := to.dial(open)
	if err != nil {
		starting(w)
		return
	}
	h := http.Header{"Connection": {"Upgrade"}, "Upgrade": {v1.GatewayTunnel}}
	mark(h, v1.GatewayOpen)
	client, err := tunnel.Accept(w, h)
	if err != nil {
		_ = program.Close()
		return
	}
	tunnel.JoinUntil(open, client, program)
}

// upgrade forwards a request for another protocol, and then its bytes.
func (to *way) upgrade(open context.Context, w http.ResponseWriter, r *http.Request, asked string) {
	out := &http.Request{Method: r.Method, URL: &url.URL{}, Host: r.Host, Header: r.Header}
	aim(out.URL, r.URL)
	out.Header.Set("Connection", "Upgrade")
	out.Header.Set("Upgrade", asked)
	conn, err := to.dial(r.Context()) //nolint:contextcheck // the request limits the dial; open limits the connection
	if err != nil {
		starting(w)
		return
	}
	program, resp, err := tunnel.Dial(r.Context(), conn, out) //nolint:contextcheck // the same
	if err != nil {
		starting(w)
		return
	}
	mark(resp.Header, v1.GatewayOpen)
	passageOf(r).leave(resp.Header)
	if program == nil {
		defer resp.Body.Close()
		resp.Header.Del("Transfer-Encoding")
		resp.Header.Del("Connection")
		maps.Copy(w.Header(), resp.Header)
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body) // the client may have disconnected
		return
	}
	client, err := tunnel.Accept(w, resp.Header)
	if err != nil {
		_ = program.Close()
		return
	}
	tunnel.JoinUntil(open, client, program)
}
