package main

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// nobody is the account without rights.
const nobody = 65534

// drop gives up root, as which raw_exec starts the program: it only needs what it has already found. It also closes this process's
// entries in /proc to other processes of the account, because its environment has a token of Nomad.
func drop() error {
	if os.Geteuid() == 0 {
		if err := syscall.Setgroups(nil); err != nil {
			return fmt.Errorf("give up the groups of root: %w", err)
		}
		if err := syscall.Setgid(nobody); err != nil {
			return fmt.Errorf("give up the group of root: %w", err)
		}
		if err := syscall.Setuid(nobody); err != nil {
			return fmt.Errorf("give up root: %w", err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("close this process's entries in /proc: %w", err)
	}
	return nil
}
