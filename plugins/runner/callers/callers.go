// Package callers limits the connections of callers that have shown no secret of the task yet: whoever reaches a port of a
// runner may connect to it, and each connection costs memory of the task.
//
// A connection of such a caller first waits in a line, where nothing of it is read, and then holds one of few slots. It leaves
// both when the server calls Known, and for the length of a request when the server calls Serve, which limits such requests itself.
//
// A caller that holds slots cannot lock out others: a connection has its slot for a short time, and then makes way for one that
// waits, the newest first. Of several addresses, the one with the most connections makes way. If the line is full, its oldest
// connection makes way, or in a flood, where all are new, that of a slot, at once. So a burst of connections that show their secret loses none, and among idle connections or in
// a flood a new connection has time to show its secret.
package callers

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/detent-ml/detent/master/cache"
)

// Limits limit the connections of callers that have shown no secret. Zero means the default.
type Limits struct {
	Slots      int           // connections of which the server reads; default 64
	PerAddress int           // of one address beyond loopback; default 16
	Line       int           // connections that wait for a slot; default 512, of one address beyond loopback a quarter
	Keep       time.Duration // how long a connection has its slot while others wait; default 250 ms
	Life       time.Duration // how long a connection waits and holds a slot; default 10 s
}

func (l Limits) withDefaults() Limits {
	l.Slots = cmp.Or(max(l.Slots, 0), 64)
	l.PerAddress = cmp.Or(max(l.PerAddress, 0), 16)
	l.Line = cmp.Or(max(l.Line, 0), 512)
	l.Keep = cmp.Or(max(l.Keep, 0), 250*time.Millisecond)
	l.Life = cmp.Or(max(l.Life, 0), 10*time.Second)
	return l
}

// A Listener limits the connections that it accepts.
type Listener struct {
	net.Listener
	limits Limits
	now    func() time.Time

	mu    sync.Mutex
	slots []*Conn // oldest first
	line  []*Conn // oldest first
	again *time.Timer
}

// Limit limits the connections of a listener.
func Limit(ln net.Listener, limits Limits) *Listener {
	return &Listener{Listener: ln, limits: limits.withDefaults(), now: time.Now}
}

// Accept returns a connection at once; its first Read waits for a slot.
func (l *Listener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &Conn{Conn: raw, l: l, from: addressOf(raw.RemoteAddr())}
	c.Wait()
	return c, nil
}

// addressOf is the address of a caller: "" for all of loopback, and one for each network of IPv6.
func addressOf(remote net.Addr) string {
	at, err := netip.ParseAddrPort(remote.String())
	if err != nil || at.Addr().Unmap().IsLoopback() {
		return ""
	}
	return cache.NetworkOf(at.Addr())
}

// most is the maximum for one address.
func (l *Listener) most(from string, all, each int) int {
	if from == "" {
		return all
	}
	return min(all, each)
}

func count(list []*Conn, from string) (n int) {
	for _, c := range list {
		if c.from == from {
			n++
		}
	}
	return n
}

// heaviest is the address with the most connections; of several, that of the oldest connection.
func heaviest(list []*Conn) (from string) {
	each := make(map[string]int, len(list))
	for _, c := range list {
		each[c.from]++
	}
	n := 0
	for _, c := range list {
		if m := each[c.from]; m > n {
			from, n = c.from, m
		}
	}
	return from
}

func oldest(list []*Conn, from string) *Conn {
	return list[slices.IndexFunc(list, func(c *Conn) bool { return c.from == from })]
}

// join adds a connection to the line; the caller holds mu.
func (l *Listener) join(c *Conn) {
	turn := make(chan struct{})
	c.waiting, c.since = true, l.now()
	c.turn.Store(&turn)
	c.end = time.AfterFunc(l.limits.Life, func() { l.expire(c) })
	l.line = append(l.line, c)
	l.fill()
	if !slices.Contains(l.line, c) {
		return
	}
	crowded := count(l.line, c.from) > l.most(c.from, l.limits.Line, l.limits.Line/4)
	if !crowded && len(l.line) <= l.limits.Line {
		return
	}
	from := c.from
	if !crowded {
		from = heaviest(l.line)
	}
	if first := oldest(l.line, from); l.now().Sub(first.since) >= l.limits.Keep {
		first.drop()
		return
	}
	if holder := l.rival(c); holder != nil { // a flood
		holder.drop()
	}
	l.admit(c)
}

// rival is the connection whose slot a connection may get; nil if there is a free one.
func (l *Listener) rival(c *Conn) *Conn {
	if own := count(l.slots, c.from); own >= l.most(c.from, l.limits.Slots, l.limits.PerAddress) {
		return oldest(l.slots, c.from)
	}
	if len(l.slots) < l.limits.Slots {
		return nil
	}
	from := heaviest(l.slots)
	return oldest(l.slots, from)
}

// fill gives slots to the line, the newest first; the caller holds mu. A connection that has waited for long gets only a free slot.
func (l *Listener) fill() {
	now, next, full := l.now(), time.Duration(0), map[string]bool{}
	for _, c := range slices.Backward(slices.Clone(l.line)) {
		if full[c.from] {
			continue
		}
		holder := l.rival(c)
		if holder != nil && now.Sub(c.since) >= 2*l.limits.Keep {
			full[c.from] = true
			continue
		}
		if holder != nil {
			fewer := holder.from != c.from && count(l.slots, c.from)+1 < count(l.slots, holder.from)
			if left := l.limits.Keep - now.Sub(holder.since); left > 0 && !fewer {
				if full[c.from] = true; next == 0 || left < next {
					next = left
				}
				continue
			}
			holder.drop()
		}
		l.admit(c)
	}
	if l.again != nil {
		l.again.Stop()
		l.again = nil
	}
	if next > 0 {
		l.again = time.AfterFunc(next, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.fill()
		})
	}
}

// admit moves a connection from the line to a slot.
func (l *Listener) admit(c *Conn) {
	l.line = slices.DeleteFunc(l.line, func(o *Conn) bool { return o == c })
	c.since = l.now()
	l.slots = append(l.slots, c)
	close(*c.turn.Load())
}

func (l *Listener) expire(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.waiting {
		c.drop()
		l.fill()
	}
}

// A Conn is a connection of a Listener.
type Conn struct {
	net.Conn
	l    *Listener
	from string
	turn atomic.Pointer[chan struct{}] // closed when the connection may read

	// Under the listener's mu.
	waiting bool // in the line, or in a slot
	known   bool
	closed  bool
	since   time.Time // of its slot, or of its place in the line
	end     *time.Timer
}

// Read waits for a slot first.
func (c *Conn) Read(b []byte) (int, error) {
	<-*c.turn.Load()
	return c.Conn.Read(b)
}

// leave gives the slot or the place in the line back; the caller holds mu.
func (c *Conn) leave() {
	if !c.waiting {
		return
	}
	c.waiting = false
	c.end.Stop()
	other := func(o *Conn) bool { return o == c }
	if slices.Contains(c.l.line, c) {
		c.l.line = slices.DeleteFunc(c.l.line, other)
		close(*c.turn.Load())
		return
	}
	c.l.slots = slices.DeleteFunc(c.l.slots, other)
}

// drop closes a connection for another; the caller holds mu.
func (c *Conn) drop() {
	c.leave()
	c.closed = true
	_ = c.Conn.Close()
}

// Known records that the caller has shown a secret of the task: the connection has no limit any more.
func (c *Conn) Known() {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	if c.known {
		return
	}
	c.known = true
	c.leave()
	c.l.fill()
}

// Serve records that the server answers a request of the connection, and limits such requests. Wait follows.
func (c *Conn) Serve() {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	c.leave()
	c.l.fill()
}

// Wait records that the connection waits for a request.
func (c *Conn) Wait() {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	if !c.waiting && !c.known && !c.closed {
		c.l.join(c)
	}
}

// Close closes the connection.
func (c *Conn) Close() error {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	if c.closed {
		return nil
	}
	c.leave()
	c.closed = true
	err := c.Conn.Close()
	c.l.fill()
	return err
}

// CloseWrite closes the sending direction.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

type key struct{}

// With adds a connection to the context of its requests.
func With(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, key{}, c) }

// Of is the connection of a request.
func Of(ctx context.Context) *Conn { return ctx.Value(key{}).(*Conn) }
