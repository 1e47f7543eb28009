//go:build unix

package regular

import "golang.org/x/sys/unix"

const special = unix.O_NONBLOCK | unix.O_NOFOLLOW
