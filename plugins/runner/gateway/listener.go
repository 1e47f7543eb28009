//go:build linux

package gateway

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"

	"github.com/detent-ml/detent/master/tunnel"
)

// handshake is the first byte of a TLS connection. No request begins with it.
const handshake = 0x16

// A listener takes TLS and plain HTTP on one port. Masters speak TLS. In the clear come
// the health checks of Consul and Nomad, and masters of the release before this one,
// for as long as both run side by side.
type listener struct {
	net.Listener
	conf *tls.Config
}

func (l *listener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &either{Conn: raw, conf: l.conf}, nil
}

// either is a connection of which the first byte says how it goes on. That byte is
// waited for by who reads, within the deadline of who reads, and never by Accept.
type either struct {
	net.Conn
	conf *tls.Config

	mu      sync.Mutex
	decided net.Conn // nil until the first byte is there
}

func (e *either) Read(b []byte) (int, error) {
	if c := e.now(); c != nil {
		return c.Read(b)
	}
	if len(b) == 0 {
		return 0, nil
	}
	var first [1]byte
	if n, err := e.Conn.Read(first[:]); n == 0 {
		return 0, err
	}
	c := tunnel.Prefixed(e.Conn, first[:])
	if first[0] == handshake {
		c = tls.Server(c, e.conf)
	}
	e.mu.Lock()
	e.decided = c
	e.mu.Unlock()
	return c.Read(b)
}

// Write is never the first: a server has read a request before it answers.
func (e *either) Write(b []byte) (int, error) {
	if c := e.now(); c != nil {
		return c.Write(b)
	}
	return 0, errors.New("the caller has not sent a request yet")
}

// Close tells a peer that speaks TLS that this is the end.
func (e *either) Close() error {
	if c := e.now(); c != nil {
		return c.Close()
	}
	return e.Conn.Close()
}

// CloseWrite closes the sending half.
func (e *either) CloseWrite() error {
	if half, ok := e.now().(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

func (e *either) now() net.Conn {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.decided
}
