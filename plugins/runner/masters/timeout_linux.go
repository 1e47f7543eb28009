package masters

import (
	"time"

	"golang.org/x/sys/unix"
)

// setTCPUserTimeout ignores errors: without this option a vanished peer is noticed later.
func setTCPUserTimeout(fd int, d time.Duration) {
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds()))
}
