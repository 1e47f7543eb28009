package masters

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/plugins/runner/regular"
)

// Limits for the repetition of requests.
const (
	firstPause = 50 * time.Millisecond
	maxPause   = 2 * time.Second
	scouts     = 8                // requests that try again at the same time while all masters fail
	scoutWait  = time.Second      // how long one waits for its turn to try
	deadPeer   = 30 * time.Second // a connection is closed after this time without data from the master
)

// Options has the addresses of masters.
type Options struct {
	URLs   []string // base addresses
	File   string   // one more address per line, read again whenever it changes; "" for none
	CAFile string   // PEM certificates to trust in addition to the system's; "": none
}

// A List is the masters that a runner knows, and which of them answers. It is safe for use by
// several goroutines.
type List struct {
	opts      Options
	transport *http.Transport
	turns     chan struct{} // one token per scout

	silentAfter time.Duration // silentAfter, unless a test shortens it
	healthWait  time.Duration // healthWait, unless a test shortens it

	mu       sync.Mutex
	urls     []*url.URL
	silence  silence
	current  int
	failures int           // failed tries since the last answer
	answered chan struct{} // closed by the answer that ends an outage
	stamp    time.Time     // of the file when it was last read
	size     int64
}

// New makes a List. It returns an error if the list would be empty, or if an address or the
// certificates are invalid; a missing file is read later.
func New(opts Options) (*List, error) {
	transport, err := newTransport(opts.CAFile)
	if err != nil {
		return nil, err
	}
	l := &List{opts: opts, transport: transport, turns: make(chan struct{}, scouts), answered: make(chan struct{}), silentAfter: silentAfter, healthWait: healthWait}
	for _, raw := range opts.URLs {
		u, err := parse(raw)
		if err != nil {
			return nil, err
		}
		l.urls = append(l.urls, u)
	}
	l.refresh()
	if len(l.urls) == 0 && opts.File == "" {
		return nil, errors.New("no master is known: DET_MASTERS must name at least one, like http://10.0.0.5:8080")
	}
	return l, nil
}

func parse(raw string) (*url.URL, error) {
	raw = strings.TrimSpace(raw)
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("%q is not the address of a master: it must look like http://host:8080 or https://host", raw)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	return u, nil
}

func newTransport(caFile string) (*http.Transport, error) {
	dialer := &net.Dialer{
		Timeout:         5 * time.Second,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3},
		Control:         setUserTimeout,
	}
	t := &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return notItself(dialer.DialContext(ctx, network, addr))
		},
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 32,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true, // responses are forwarded unchanged
		// Only HTTP/1.1, which supports upgrades.
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
	}
	if caFile == "" {
		return t, nil
	}
	pem, err := regular.Read(caFile)
	if err != nil {
		return nil, fmt.Errorf("cannot read the certificate of the master (DET_MASTER_CA): %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s (DET_MASTER_CA) contains no certificate in PEM", caFile)
	}
	t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return t, nil
}

// notItself rejects a connection of a socket to itself. A connection to an unused loopback port
// may get this port as its own port: then it succeeds, and takes the port from the master that
// is about to restart.
func notItself(c net.Conn, err error) (net.Conn, error) {
	if err != nil || c.LocalAddr().String() != c.RemoteAddr().String() {
		return c, err
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // or the port would stay in use for a minute
	}
	_ = c.Close()
	return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: c.RemoteAddr(), Err: syscall.ECONNREFUSED}
}

// setUserTimeout makes the kernel close a connection whose peer has vanished with
// unacknowledged data; keep-alives do not cover that case.
func setUserTimeout(network, _ string, c syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	return c.Control(func(fd uintptr) { setTCPUserTimeout(int(fd), deadPeer) })
}

// URLs lists the known masters.
func (l *List) URLs() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refresh()
	return each.Of(l.urls, (*url.URL).String)
}

// refresh reads the file again if it has changed. A file that cannot be read, or that is empty,
// changes nothing: old addresses are better than none.
func (l *List) refresh() {
	if l.opts.File == "" {
		return
	}
	info, err := os.Stat(l.opts.File)
	if err != nil || (info.ModTime().Equal(l.stamp) && info.Size() == l.size) {
		return
	}
	content, err := regular.Read(l.opts.File)
	if err != nil {
		return
	}
	var urls []*url.URL
	add := func(raw string) {
		u, err := parse(raw)
		if err == nil && !slices.ContainsFunc(urls, func(o *url.URL) bool { return o.String() == u.String() }) {
			urls = append(urls, u)
		}
	}
	for line := range strings.Lines(string(content)) {
		add(line)
	}
	if len(urls) == 0 {
		return
	}
	for _, raw := range l.opts.URLs {
		add(raw)
	}
	var was string
	if l.current < len(l.urls) {
		was = l.urls[l.current].String()
	}
	l.urls, l.stamp, l.size = urls, info.ModTime(), info.Size()
	l.current = max(0, slices.IndexFunc(urls, func(u *url.URL) bool { return u.String() == was }))
}

// pick returns the master to try next, nil if none is known, and the number of masters.
func (l *List) pick() (*url.URL, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refresh()
	if len(l.urls) == 0 {
		return nil, 0
	}
	return l.urls[l.current%len(l.urls)], len(l.urls)
}

// failed records that u did not answer; the next request tries another master.
func (l *List) failed(u *url.URL) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures++
	if len(l.urls) > 0 && l.urls[l.current%len(l.urls)] == u {
		l.current = (l.current + 1) % len(l.urls)
	}
}

// ok records an answer of u, and wakes the requests that wait for the end of an outage.
func (l *List) ok(u *url.URL) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.urls, u); i >= 0 {
		l.current = i
	}
	l.silence.heard, l.silence.heardAt = u.String(), time.Now()
	if l.failures > 0 {
		l.failures = 0
		close(l.answered)
		l.answered = make(chan struct{})
	}
}

// down reports whether every master has failed since the last answer.
func (l *List) down() (bool, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failures >= max(1, len(l.urls)), l.answered
}

// pause waits before the next try: a random time that grows with the number of tries, or until
// the outage ends.
func (l *List) pause(ctx context.Context, tries int) error {
	_, answered := l.down()
	most := min(maxPause, firstPause<<min(tries, 10))
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(most/2 + rand.N(most/2+1)):
	case <-answered:
	}
	return nil
}

// turn waits until the request may be tried again during an outage; only a few requests may
// at once. It never waits long, because a request that holds a turn may be answered slowly.
func (l *List) turn(ctx context.Context) (release func()) {
	down, answered := l.down()
	if !down {
		return func() {}
	}
	select {
	case l.turns <- struct{}{}:
		return func() { <-l.turns }
	case <-answered:
	case <-time.After(scoutWait):
	case <-ctx.Done():
	}
	return func() {}
}

// Close closes idle connections.
func (l *List) Close() { l.transport.CloseIdleConnections() }
