//go:build linux

package shell

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// A terminal is a pseudo-terminal: the programs' end, and the server's end.
type terminal struct {
	ours *os.File
	name string
}

// openTerminal makes a terminal and returns the programs' end too.
func openTerminal(columns, rows uint32) (*terminal, *os.File, error) {
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot open a terminal: %w", err)
	}
	t := &terminal{ours: ours}
	var theirs *os.File
	err = t.control(func(fd int) error {
		if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
			return err
		}
		n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
		if err != nil {
			return err
		}
		t.name = fmt.Sprintf("/dev/pts/%d", n)
		// Open the programs' end through the server's end, because this root may have another
		// folder of terminals.
		peer, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
		if errno != 0 {
			return errno
		}
		theirs = os.NewFile(peer, t.name)
		return nil
	})
	if err == nil {
		err = t.resize(columns, rows)
	}
	if err != nil {
		_ = ours.Close()
		if theirs != nil {
			_ = theirs.Close()
		}
		return nil, nil, fmt.Errorf("cannot create a terminal: %w", err)
	}
	return t, theirs, nil
}

// resize sets the size of the window.
func (t *terminal) resize(columns, rows uint32) error {
	size := &unix.Winsize{Col: uint16(min(columns, 1<<15)), Row: uint16(min(rows, 1<<15))}
	return t.control(func(fd int) error { return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, size) })
}

// control uses the descriptor without making it blocking.
func (t *terminal) control(f func(fd int) error) error {
	raw, err := t.ours.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { inner = f(int(fd)) }); err != nil {
		return err
	}
	return inner
}
