package server

import (
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/detent-ml/detent/master/cache"
)

// ConnectionsConfig limits the connections of clients.
type ConnectionsConfig struct {
	// Maximum number of open connections, on all listeners together. An eighth is reserved for
	// loopback and `trusted_proxies`. The limit is lower if the process may open fewer files.
	Max int `yaml:"max"`
	// Maximum number of open connections from one address, or from one IPv6 network (/64). The
	// limit falls, to no less than 64, while many connections are open. Loopback and
	// `trusted_proxies` have no such limit.
	MaxPerAddress int `yaml:"max_per_address"`
}

const (
	// An address with at most fewConnections is never limited by freeConnections.
	fewConnections = 64
	// An address may open another connection only if freeConnections times as many stay free as
	// it already has. So a few addresses together cannot use up all connections.
	freeConnections = 6
	// 1/keptConnections of the connections is reserved for loopback and trusted proxies.
	keptConnections = 8
	// rejectionLogInterval is the minimum time between two log lines about rejected connections.
	rejectionLogInterval = time.Minute
)

func (c *Config) checkConnections(k *checker) {
	if c.Connections.Max < 4*fewConnections {
		k.fail("connections.max", "expected at least %d, found %d", 4*fewConnections, c.Connections.Max)
	}
	if c.Connections.MaxPerAddress < 1 {
		k.fail("connections.max_per_address", "expected a number above 0, found %d", c.Connections.MaxPerAddress)
	}
}

// connections counts the open connections of each address: a client that opens many idle
// connections neither blocks other clients nor exhausts the files that the process may open.
type connections struct {
	max, each int
	exempt    func(netip.Addr) bool
	linger    time.Duration // how long a connection that the master closes stays for what still arrives
	log       *slog.Logger

	mu      sync.Mutex
	open    int
	of      map[string]int
	refused uint64
	lastLog time.Time // time of the last log line about rejected connections
}

func newConnections(cfg *Config, log *slog.Logger) *connections {
	trusted := cfg.trusted()
	exempt := func(a netip.Addr) bool {
		return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(a) }) || a.IsLoopback()
	}
	c := &connections{max: cfg.Connections.Max, each: cfg.Connections.MaxPerAddress, exempt: exempt, linger: lingerTime, log: log, of: map[string]int{}}
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err == nil && files.Cur/4*3 < uint64(c.max) {
		c.max = int(files.Cur / 4 * 3)
		log.Warn("the master accepts fewer connections than connections.max, because the process may open too few files; raise its limit (ulimit -n, LimitNOFILE)",
			"max", cfg.Connections.Max, "accepted", c.max, "files", files.Cur)
	}
	return c
}

// limit returns a listener that closes connections above the limits immediately.
func (c *connections) limit(ln net.Listener) net.Listener { return &limited{ln, c} }

type limited struct {
	net.Listener
	all *connections
}

// Accept waits for a connection within the limits.
func (l *limited) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from, ok := addressOf(conn)
		if !ok {
			return conn, nil // no network address: a pipe of a test
		}
		if l.all.enter(from) {
			return counted(conn, l.all.linger, func() { l.all.leave(from) }), nil
		}
		_ = conn.Close() // the client sees that the connection is closed
	}
}

func addressOf(conn net.Conn) (netip.Addr, bool) {
	tcp, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}, false
	}
	a, ok := netip.AddrFromSlice(tcp.IP)
	return a.Unmap(), ok
}

func (c *connections) enter(from netip.Addr) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := cache.NetworkOf(from)
	if !c.fits(from, c.of[key]) {
		c.refused++
		if now := time.Now(); now.Sub(c.lastLog) >= rejectionLogInterval {
			c.lastLog = now
			c.log.Warn("rejecting connections; if a proxy opens them, add its address to trusted_proxies; otherwise raise connections.max or connections.max_per_address",
				"address", from.String(), "open_from_there", c.of[key], "open", c.open, "refused_so_far", c.refused)
		}
		return false
	}
	c.open++
	c.of[key]++
	return true
}

// fits must be called with the lock held.
func (c *connections) fits(from netip.Addr, held int) bool {
	if c.exempt(from) {
		return c.open < c.max
	}
	left := c.max - c.max/keptConnections - c.open
	if left <= 0 || held >= c.each {
		return false
	}
	return held < fewConnections || (held+1)*freeConnections <= left
}

func (c *connections) leave(from netip.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := cache.NetworkOf(from)
	c.open--
	if c.of[key]--; c.of[key] <= 0 {
		delete(c.of, key)
	}
}

// count returns the numbers of open and of rejected connections.
func (c *connections) count() (open int, refused uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open, c.refused
}

// counted calls closed when the connection closes. A TCP connection keeps its type, for callers
// that need the type.
func counted(conn net.Conn, linger time.Duration, closed func()) net.Conn {
	once := sync.OnceFunc(closed)
	if tcp, ok := conn.(*net.TCPConn); ok {
		return &countedTCP{TCPConn: tcp, closed: once, linger: linger}
	}
	return &countedConn{conn, once}
}

type countedConn struct {
	net.Conn
	closed func()
}

func (c *countedConn) Close() error {
	defer c.closed()
	return c.Conn.Close()
}
