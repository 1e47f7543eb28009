//go:build linux

package gateway

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"

	"github.com/detent-ml/detent/master/tunnel"
)

// handshake is the first byte of a TLS connection. No HTTP request begins with it.
const handshake = 0x16

// A listener accepts TLS and plain HTTP on one port. Masters use TLS. Health checks of Consul
// and Nomad use plain HTTP, and so do masters of the previous release during an upgrade.
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

// either is a connection whose first byte selects the protocol. The first read waits for that
// byte, within its deadline; Accept never does.
type either struct {
	net.Conn
	conf *tls.Config

	mu      sync.Mutex
	decided net.Conn // nil until the first byte was read
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

// Write is never called first: a server reads a request before it answers.
func (e *either) Write(b []byte) (int, error) {
	if c := e.now(); c != nil {
		return c.Write(b)
	}
	return 0, errors.New("the caller has not sent a request yet")
}

// Close sends the end of a TLS connection.
func (e *either) Close() error {
	if c := e.now(); c != nil {
		return c.Close()
	}
	return e.Conn.Close()
}

// CloseWrite closes the sending direction.
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
