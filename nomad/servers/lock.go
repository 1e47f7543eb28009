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

// lockPoll is the time between two tries to take a lock. A context cannot interrupt flock's blocking
// form.
const lockPoll = 50 * time.Millisecond

// Lock takes an exclusive lock on a file, which it creates if it is missing, and returns the function
// that releases it. The kernel also releases it when the process ends, so no lock remains. waiting, if
// not nil, is called once if another process holds the lock.
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

// TryLock takes the lock on an open file if it is free: exclusively, or shared with others. Closing the
// file releases the lock.
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
			return false, fmt.Errorf("cannot lock %s: %w", f.Name(), err)
		}
	}
}
