package api

import (
	"net"
	"syscall"
)

// gone looks whether a client has closed its connection, without reading what it
// may have sent. A stream of records has no heartbeat, because its readers take
// every line for a record; without this, whoever followed a silent log and left
// would be served until the log's next line.
func gone(conn net.Conn) bool {
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
	// Not raw.Read: it fails as soon as the deadline for reading the request has passed.
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		closed = n == 0 && err == nil || err == syscall.ECONNRESET
	})
	return closed || err != nil
}
