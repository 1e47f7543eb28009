package callers

import (
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"
)

const never = 1000 * time.Hour

// A rig is a listener whose connections come from any address.
type rig struct {
	*Listener
	t *testing.T
}

// A fake listener accepts what the test connects.
type fake struct{ conns chan net.Conn }

func (f *fake) Accept() (net.Conn, error) { return <-f.conns, nil }
func (f *fake) Close() error              { return nil }
func (f *fake) Addr() net.Addr            { return &net.TCPAddr{} }

type from struct {
	net.Conn
	address string
}

func (f *from) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(f.address), Port: 1} }

func newRig(t *testing.T, limits Limits) *rig {
	return &rig{Limit(&fake{make(chan net.Conn, 1)}, limits), t}
}

// connect returns both ends of a connection.
func (r *rig) connect(address string) (client net.Conn, c *Conn) {
	r.t.Helper()
	client, server := net.Pipe()
	r.Listener.Listener.(*fake).conns <- &from{server, address}
	accepted, err := r.Accept()
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = client.Close(); _ = accepted.Close() })
	return client, accepted.(*Conn)
}

func (r *rig) connects(n int, address string) (list []*Conn) {
	for range n {
		_, c := r.connect(address)
		list = append(list, c)
	}
	return list
}

func (r *rig) want(what string, slots, line int) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.slots) != slots || len(r.line) != line {
		r.t.Fatalf("%s: %d connections have slots and %d wait, want %d and %d", what, len(r.slots), len(r.line), slots, line)
	}
}

func (r *rig) holds(c *Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.slots, c)
}

// TestSlotsAreFew: connections beyond the slots wait, and those that have shown a secret need none.
func TestSlotsAreFew(t *testing.T) {
	r := newRig(t, Limits{Keep: never, Life: never})
	list := r.connects(100, "127.0.0.1")
	r.want("100 connections", 64, 36)
	for _, c := range list {
		c.Known()
	}
	r.want("all have shown the secret", 0, 0)
	for _, c := range r.connects(1000, "127.0.0.1") {
		c.Known()
		c.Wait() // a known connection remains known
	}
	r.want("a thousand more", 0, 0)
	list = r.connects(65, "::1")
	list[0].Serve()
	r.want("one is served, the next has its slot", 64, 0)
	list[0].Wait()
	r.want("it waits again", 64, 1)
	_ = list[1].Close()
	if r.want("one ends", 64, 0); !r.holds(list[0]) {
		t.Error("the connection that waited has no slot")
	}
}

// TestABurstLosesNobody: many connections at once that show their secret are all read, though few at a time.
func TestABurstLosesNobody(t *testing.T) {
	r := newRig(t, Limits{Slots: 4, Line: 1000, Keep: never, Life: never})
	var all sync.WaitGroup
	for range 200 {
		client, c := r.connect("127.0.0.1")
		all.Go(func() { _, _ = client.Write([]byte("s")) })
		all.Go(func() {
			if _, err := c.Read(make([]byte, 1)); err != nil {
				t.Error(err)
			}
			c.Known()
		})
	}
	all.Wait()
	r.want("after the burst", 0, 0)
}

// TestNewConnectionsDisplaceIdleOnes: a connection that has held its slot for a while makes way.
func TestNewConnectionsDisplaceIdleOnes(t *testing.T) {
	r := newRig(t, Limits{Keep: time.Hour, Life: never})
	now := time.Now()
	r.now = func() time.Time { return now }
	client, _ := r.connect("127.0.0.1")
	r.connects(63, "127.0.0.1")
	now = now.Add(time.Hour)
	_, c := r.connect("127.0.0.1")
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) { // waits for the displacement
		t.Fatal(err)
	}
	if r.want("one more", 64, 0); !r.holds(c) {
		t.Error("the new connection has no slot")
	}
}

// TestFloods: if the line is full of new connections, too, a further one displaces the oldest of a slot at once.
func TestFloods(t *testing.T) {
	r := newRig(t, Limits{Keep: never, Life: never})
	first, _ := r.connect("127.0.0.1")
	r.connects(64+512-1, "127.0.0.1")
	r.want("the line is full", 64, 512)
	_, c := r.connect("127.0.0.1")
	if r.want("one more", 64, 512); !r.holds(c) {
		t.Error("the new connection has no slot")
	}
	if _, err := first.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	r.connects(1000, "127.0.0.1")
	r.want("a thousand more", 64, 512)
}

// TestABurstAfterAFlood: many new connections displace old ones of the slots and of the line, and none of each other.
func TestABurstAfterAFlood(t *testing.T) {
	r := newRig(t, Limits{Keep: time.Hour, Life: never})
	now := time.Now()
	r.now = func() time.Time { return now }
	r.connects(1000, "127.0.0.1")
	now = now.Add(2 * time.Hour)
	list := r.connects(64+512, "127.0.0.1")
	r.want("the burst", 64, 512)
	for _, c := range list {
		if c.closed {
			t.Fatal("a connection of the burst is closed")
		}
		c.Known()
	}
	r.want("the burst has shown the secret", 0, 0)
}

// TestAddressesAreTreatedAlike: one address has few slots, and several that hold all of them do not keep out another.
func TestAddressesAreTreatedAlike(t *testing.T) {
	r := newRig(t, Limits{Keep: never, Life: never})
	r.connects(200, "10.0.0.1")
	r.want("one address", 16, 128)
	for _, address := range []string{"2001:db8::1", "2001:db8::2", "10.0.0.3", "10.0.0.4"} {
		r.connects(16, address)
	}
	r.want("two addresses of one network count as one", 64, 144)
	if c := r.connects(1, "10.0.0.5")[0]; !r.holds(c) {
		t.Error("a new address has no slot")
	}
	r.want("a new address displaces one of an address with many", 64, 144)
}

// TestLivesAreShort: a connection that shows nothing ends, in a slot and in the line.
func TestLivesAreShort(t *testing.T) {
	r := newRig(t, Limits{Slots: 1, Keep: never, Life: time.Millisecond})
	for range 2 {
		client, _ := r.connect("127.0.0.1")
		defer func() {
			if _, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Error(err)
			}
		}()
	}
}
