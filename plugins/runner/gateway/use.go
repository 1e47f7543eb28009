//go:build linux

package gateway

import (
	"sync"
	"time"
)

// use records the last use through the gateway.
type use struct {
	mu   sync.Mutex
	here int
	last time.Time
}

func newUse(now time.Time) *use { return &use{last: now} }

// begin records the begin of a use; the returned function records its end.
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

// since is the time of the last use; now, during a use.
func (u *use) since(now time.Time) time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.here > 0 {
		return now
	}
	return u.last
}
