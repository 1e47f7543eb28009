package cache

import (
	"sync"
	"time"
)

// Rates limits how often something happens for each key: a number of times at once, and again
// once in each interval. When there are too many keys, it forgets them.
type Rates[K comparable] struct {
	burst int
	every time.Duration
	most  int

	mu   sync.Mutex
	full map[K]time.Time // when a key may have its whole number again
}

// NewRates limits each key to burst times at once, and to once in each interval afterwards.
func NewRates[K comparable](burst int, every time.Duration, most int) *Rates[K] {
	return &Rates[K]{burst: burst, every: every, most: most, full: map[K]time.Time{}}
}

// Take reports whether it may happen once more, and counts it if so.
func (r *Rates[K]) Take(key K, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, known := r.full[key]
	if at.Before(now) {
		at = now
	}
	if at.Sub(now) > time.Duration(r.burst-1)*r.every {
		return false
	}
	if !known && len(r.full) >= r.most {
		for k, t := range r.full {
			if t.Before(now) {
				delete(r.full, k)
			}
		}
		if len(r.full) >= r.most {
			clear(r.full)
		}
	}
	r.full[key] = at.Add(r.every)
	return true
}
