package server

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/api"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/schema"

	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

// strangers serves the API with limits for connections, which apply to every address except
// 127.0.0.1.
func strangers(t *testing.T, c ConnectionsConfig, change ...func(*connections)) (address string, conns *connections, log *bytes.Buffer) {
	t.Helper()
	db, err := database.Open(t.Context(), pgtest.New(t, schema.Hash(), schema.Migrate), database.Options{MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	cfg := Defaults()
	cfg.Connections = c
	log = &bytes.Buffer{}
	conns = newConnections(&cfg, slog.New(slog.NewTextHandler(log, nil)))
	conns.exempt = func(a netip.Addr) bool { return a == netip.MustParseAddr("127.0.0.1") }
	for _, of := range change {
		of(conns)
	}
	quiet := slog.New(slog.DiscardHandler)
	ctx, stop := context.WithCancel(context.Background())
	a := api.New(ctx, api.Config{Connections: conns.count, MaxConnections: conns.max, BlankLogin: func(string, string) bool { return true }},
		db, database.NewBus("", quiet), nil, nil, quiet)
	ln, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- a.Router().Listen(conns.limit(ln)) }()
	t.Cleanup(func() {
		stop()
		if err := a.Router().Shutdown(10 * time.Second); err != nil {
			t.Error(err)
		}
		<-served
	})
	return fmt.Sprintf("127.0.0.1:%d", ln.Addr().(*net.TCPAddr).Port), conns, log
}

// dial opens a connection from an address of this machine.
func dial(t *testing.T, from, to string) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: time.Minute}).DialContext(t.Context(), "tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// answers asks over a connection, and reports whether the API answered.
func answers(t *testing.T, conn net.Conn, path string) (string, bool) {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path); err != nil {
		return "", false
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return "", false
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err == nil && resp.StatusCode == 200
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// TestSlowClientsKeepNobodyOut: a client that opens a thousand connections and sends one byte on each
// keeps only a few of them. It uses neither the connections of other clients nor a goroutine for each
// connection.
func TestSlowClientsKeepNobodyOut(t *testing.T) {
	address, conns, log := strangers(t, ConnectionsConfig{Max: 400, MaxPerAddress: 60})
	before := runtime.NumGoroutine()
	slow := func(from string, n int) {
		for range n {
			conn := dial(t, from, address)
			_, _ = io.WriteString(conn, "G") // it may be closed by now
		}
	}
	slow("127.0.0.9", 1000)
	until(t, "what is over the bound is open", func() bool { open, refused := conns.count(); return open == 60 && refused == 940 })
	if n := runtime.NumGoroutine() - before; n > 150 {
		t.Errorf("there are %d more goroutines", n)
	}
	if _, ok := answers(t, dial(t, "127.0.0.8", address), "/health"); !ok {
		t.Error("another address is not answered")
	}
	for i := 10; i < 40; i++ { // thirty others do the same
		slow(fmt.Sprint("127.0.0.", i), 100)
	}
	until(t, "the eighth that is kept is not", func() bool { open, _ := conns.count(); return open == 350 })
	got, ok := answers(t, dial(t, "127.0.0.1", address), "/metrics")
	if !ok || !strings.Contains(got, "det_connections 351\n") || !strings.Contains(got, "det_connections_refused_total ") {
		t.Errorf("the answer to a trusted address is %q", got)
	}
	if said := log.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, "connections.max_per_address") || !strings.Contains(said, "address=127.0.0.9") {
		t.Errorf("the log is %s", said)
	}
}

// TestAConnectionThatClosesMakesRoom: every closed connection is free for another client, whichever side
// closes it.
func TestAConnectionThatClosesMakesRoom(t *testing.T) {
	address, conns, _ := strangers(t, ConnectionsConfig{Max: 400, MaxPerAddress: 2})
	for range 20 {
		first, second := dial(t, "127.0.0.9", address), dial(t, "127.0.0.9", address)
		if _, ok := answers(t, second, "/health"); !ok { // the API closes it
			t.Fatal("a connection within the bound is not answered")
		}
		if err := first.(*net.TCPConn).SetLinger(0); err != nil {
			t.Fatal(err)
		}
		_ = first.Close() // by a reset
		until(t, "what is closed counts", func() bool { open, _ := conns.count(); return open == 0 })
	}
	if _, refused := conns.count(); refused != 0 || len(conns.of) != 0 {
		t.Errorf("%d were refused; %v are remembered", refused, conns.of)
	}
}

// TestSharesOfConnections: the limit of an address shrinks with the number of free connections; an IPv6
// network counts as one address.
func TestSharesOfConnections(t *testing.T) {
	cfg := Defaults()
	cfg.TrustedProxies = []string{"10.9.0.0/16"}
	c := newConnections(&cfg, slog.New(slog.DiscardHandler))
	fill := func(from string) (n int) {
		a := netip.MustParseAddr(from)
		for c.enter(a) {
			n++
		}
		return n
	}
	if n := fill("192.0.2.1"); n != cfg.Connections.MaxPerAddress {
		t.Errorf("one address opens %d", n)
	}
	if n, more := fill("2001:db8::1"), fill("2001:db8::2"); n < fewConnections || more != 0 {
		t.Errorf("one network opens %d and %d", n, more)
	}
	for i := range 18 {
		fill(fmt.Sprintf("198.51.100.%d", i))
	}
	if n := fill("203.0.113.1"); n < fewConnections {
		t.Errorf("after twenty addresses with as many connections as they can have, another one opens %d", n)
	}
	if a := netip.MustParseAddr("10.9.8.7"); !c.enter(a) {
		t.Error("a trusted proxy is refused")
	}
	for fill("127.0.0.1"); c.open > 0; c.open-- {
		if c.open > c.max {
			t.Fatalf("%d of %d are open", c.open, c.max)
		}
	}
}
