package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lockPoll is how often a waiting process asks for the lock again. The blocking form of flock cannot
// be interrupted by a context.
const lockPoll = 50 * time.Millisecond

// Lock takes an exclusive lock on a file, which it makes where it is missing, and returns the function
// that gives it back. The kernel gives it back as well when the process ends, however it ends: a lock
// can never be left behind. waiting, if not nil, is called once when somebody else holds the lock.
func Lock(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		got, err := TryLock(f, true)
		if err != nil {
			f.Close()
			return nil, err
		}
		if got {
			return func() { f.Close() }, nil
		}
		if waiting != nil {
			waiting()
			waiting = nil
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("waiting for the lock %s: %w", path, ctx.Err())
		case <-time.After(lockPoll):
		}
	}
}

// TryLock takes the lock on an open file if it is free: exclusively, or shared with others.
// The lock is given back when the file is closed.
func TryLock(f *os.File, exclusive bool) (bool, error) {
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		default:
			return false, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
	}
}
