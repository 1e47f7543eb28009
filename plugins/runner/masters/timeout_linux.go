package masters

import (
	"time"

	"golang.org/x/sys/unix"
)

// setTCPUserTimeout is best effort: without it a vanished peer is noticed later.
func setTCPUserTimeout(fd int, d time.Duration) {
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds()))
}
