//go:build unix

package tokens

import (
	"os"
	"syscall"
	"time"

	"github.com/detent-ml/detent/master/fault"
)

// lockPatience bounds the wait for a lock that others hold for milliseconds.
const lockPatience = 10 * time.Second

// lock takes the lock that Determined's client takes: flock on a file beside the
// one it protects. Some versions of that client's library unlink the file when
// they are done, so a lock counts only while its file is the one at the path.
func lock(path string) (unlock func(), err error) {
	deadline := time.Now().Add(lockPatience)
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
		if err != nil && err != syscall.EWOULDBLOCK && err != syscall.EINTR {
			return nil, err
		}
		if time.Now().After(deadline) {
			return nil, fault.New(fault.Unavailable, "another program holds %s", path)
		}
		time.Sleep(10 * time.Millisecond)
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
