// Package cache has a cache of bounded size (Cache), a limit of rates for each key (Rates), and the key of a client's address
// (NetworkOf). A master uses them for what it would otherwise read from the database with every request, and so that no number of
// keys fills its memory. The caches of libraries remove the value that was used least recently; this one also knows which value is
// stale but still better than none, and a rate of golang.org/x/time/rate would need such a cache around it.
package cache

import (
	"sync"
	"time"
)

// A Cache keeps values, so that, for example, a page with a hundred requests queries the
// database once. When it is full, it removes stale values, or all values if none is stale.
type Cache[K comparable, V any] struct {
	life time.Duration
	most int

	mu   sync.Mutex
	held map[K]remembered[V]
}

type remembered[V any] struct {
	value V
	until time.Time
}

// New makes a cache of at most that many values. With a life of 0, values are never stale.
func New[K comparable, V any](life time.Duration, most int) *Cache[K, V] {
	return &Cache[K, V]{life: life, most: most, held: map[K]remembered[V]{}}
}

// Get returns the cached value; fresh reports that it is not stale.
func (m *Cache[K, V]) Get(key K, now time.Time) (value V, fresh, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.held[key]
	return r.value, ok && (m.life == 0 || now.Before(r.until)), ok
}

// Put caches a value.
func (m *Cache[K, V]) Put(key K, value V, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.held) >= m.most {
		for k, r := range m.held {
			if m.life > 0 && now.After(r.until) {
				delete(m.held, k)
			}
		}
		if len(m.held) >= m.most {
			clear(m.held)
		}
	}
	m.held[key] = remembered[V]{value, now.Add(m.life)}
}

// Stale marks a value as stale; Get still returns it.
func (m *Cache[K, V]) Stale(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, ok := m.held[key]; ok {
		r.until = time.Time{}
		m.held[key] = r
	}
}

// Forget removes the values for which drop returns true.
func (m *Cache[K, V]) Forget(drop func(K, V) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, r := range m.held {
		if drop(k, r.value) {
			delete(m.held, k)
		}
	}
}
