//go:build unix

package tokens

import (
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/detent-ml/detent/master/fault"
)

// lockPatience limits the wait for the lock, which others hold for milliseconds, and lockRetry
// is the time between tries: flock itself waits without a limit.
const (
	lockPatience = 10 * time.Second
	lockRetry    = 10 * time.Millisecond
)

// lock takes the lock that Determined's client takes: flock on a file in the same folder. Some
// versions of its library unlink the file afterwards, so a lock counts only while its file is
// the one at the path.
func lock(path string) (unlock func(), err error) {
	deadline := time.NewTimer(lockPatience)
	defer deadline.Stop()
	retry := time.NewTicker(lockRetry)
	defer retry.Stop()
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil && same(f, path) {
			return func() { _ = f.Close() }, nil
		}
		_ = f.Close()
		if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, err
		}
		select {
		case <-retry.C:
		case <-deadline.C:
			return nil, fault.New(fault.Unavailable, "another program holds %s", path)
		}
	}
}

func same(f *os.File, path string) bool {
	held, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(held, there)
}
