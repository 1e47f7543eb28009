package rest

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"
)

// ErrDisconnected ends work for a client that has disconnected.
var ErrDisconnected = errors.New("the client has gone")

// cancelOnDisconnect cancels work for a client when the client disconnects, which a server
// without data to write would not notice. It returns when ctx ends.
func cancelOnDisconnect(ctx context.Context, conn net.Conn, cancel func()) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if disconnected(conn) {
				cancel()
				return
			}
		}
	}
}

// disconnected reports whether a client has closed its connection, without reading data that
// the client may have sent. A stream of records has no heartbeat, because its readers treat
// every line as a record; without this check, a client that follows a silent log and
// disconnects would be served until the log's next line.
func disconnected(conn net.Conn) bool {
	if tls, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = tls.NetConn()
	}
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return true
	}
	closed := false
	// Not raw.Read, which fails after the deadline for reading the request.
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		closed = n == 0 && err == nil || err == syscall.ECONNRESET
	})
	return closed || err != nil
}

// CancelOnDisconnect cancels work for a call, which continues after its handler, when the client disconnects.
func (c *Call) CancelOnDisconnect(ctx context.Context, cancel func()) {
	go cancelOnDisconnect(ctx, c.Conn(), cancel)
}
