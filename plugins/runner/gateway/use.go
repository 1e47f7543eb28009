//go:build linux

package gateway

import (
	"sync"
	"time"
)

// use remembers when somebody was last here.
type use struct {
	mu   sync.Mutex
	here int
	last time.Time
}

func newUse(now time.Time) *use { return &use{last: now} }

// begin notes that somebody has come; the returned function, that they have left.
func (u *use) begin() (end func()) {
	u.mu.Lock()
	u.here++
	u.mu.Unlock()
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.here--
		u.last = time.Now()
	}
}

// since is when somebody was last here; now, while somebody is.
func (u *use) since(now time.Time) time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.here > 0 {
		return now
	}
	return u.last
}
