package server

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const closeWait = 8 // the state of a TCP connection whose other side has ended its direction

// TestRejectedWhileSending: a client that still sends a head that is too large reads the answer, and its
// connection is not reset.
func TestRejectedWhileSending(t *testing.T) {
	address, conns, _ := strangers(t, Defaults().Connections, func(c *connections) { c.linger = time.Minute })
	conn := dial(t, "127.0.0.1", address)
	send := func(text string) {
		t.Helper()
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
	}
	send("GET /api/v1/experiments?name=" + strings.Repeat("l", 40<<10))
	waitTCP(t, conn, "the answer ends", func(i *unix.TCPInfo) bool { return i.State == closeWait })
	send(strings.Repeat("l", 10<<10))
	waitTCP(t, conn, "the rest arrives", func(i *unix.TCPInfo) bool { return i.Unacked == 0 })
	send(" HTTP/1.1\r\n\r\n")
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 413 ") {
		t.Errorf("%q, %v", answer, err)
	}
	if open, _ := conns.count(); open != 1 {
		t.Errorf("%d connections count as open while one is read to its end", open)
	}
	_ = conn.Close()
	until(t, "the connection stays open", func() bool { open, _ := conns.count(); return open == 0 })
}

func waitTCP(t *testing.T, conn net.Conn, what string, is func(*unix.TCPInfo) bool) {
	t.Helper()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	until(t, what+": it did not happen", func() bool {
		var info *unix.TCPInfo
		var got error
		if err := raw.Control(func(fd uintptr) { info, got = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) }); err != nil || got != nil {
			t.Fatal(err, got)
		}
		return is(info)
	})
}
