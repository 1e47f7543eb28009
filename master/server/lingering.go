package server

import (
	"io"
	"net"
	"sync/atomic"
	"time"
)

// A client that is still sending when the master rejects its request, because the head or the body
// is too large, must be able to read the answer. If a program closes a TCP connection on which data
// arrives, the kernel resets the connection, and the client may lose the answer that it has not read.
// So the master first ends its own direction, and reads for a moment what still arrives.
const (
	lingerTime  = time.Second
	lingerBytes = 256 << 10
)

// countedTCP is a TCP connection of a client. It counts as open until it is really closed.
type countedTCP struct {
	*net.TCPConn
	closed  func()
	linger  time.Duration
	ended   atomic.Bool // the client has ended its direction, or the connection has failed
	closing atomic.Bool
}

func (c *countedTCP) Read(p []byte) (int, error) {
	if c.closing.Load() {
		return 0, net.ErrClosed
	}
	n, err := c.TCPConn.Read(p)
	if err != nil {
		c.ended.Store(true)
	}
	return n, err
}

// Close closes the connection: at once if the client has nothing more to send.
func (c *countedTCP) Close() error {
	if !c.closing.CompareAndSwap(false, true) {
		return net.ErrClosed
	}
	if c.ended.Load() || c.CloseWrite() != nil {
		defer c.closed()
		return c.TCPConn.Close()
	}
	go c.discard()
	return nil
}

// SetReadDeadline has no effect after Close, so that the connection does not stay for longer.
func (c *countedTCP) SetReadDeadline(t time.Time) error {
	if c.closing.Load() {
		return net.ErrClosed
	}
	return c.TCPConn.SetReadDeadline(t)
}

// SetDeadline has no effect after Close, either.
func (c *countedTCP) SetDeadline(t time.Time) error {
	if c.closing.Load() {
		return net.ErrClosed
	}
	return c.TCPConn.SetDeadline(t)
}

// discard reads what still arrives, for a limited time and up to a limited size.
func (c *countedTCP) discard() {
	defer c.closed()
	defer func() { _ = c.TCPConn.Close() }()
	if c.TCPConn.SetReadDeadline(time.Now().Add(c.linger)) == nil {
		_, _ = io.CopyN(io.Discard, c.TCPConn, lingerBytes)
	}
}
