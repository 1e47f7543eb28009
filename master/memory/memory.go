// Package memory keeps what was read for a while, within a bound, so that what is asked for often is
// read seldom.
package memory

import (
	"sync"
	"time"
)

// A Memory keeps answers, for example so that a page of a hundred requests asks the database
// once. It is bounded: at the bound what is stale goes, and if that frees nothing, everything.
type Memory[K comparable, V any] struct {
	life time.Duration
	most int

	mu   sync.Mutex
	held map[K]remembered[V]
}

type remembered[V any] struct {
	value V
	until time.Time
}

// New makes a Memory of at most that many answers. What never changes has a life of 0 and is never stale.
func New[K comparable, V any](life time.Duration, most int) *Memory[K, V] {
	return &Memory[K, V]{life: life, most: most, held: map[K]remembered[V]{}}
}

// Get gives what is remembered; fresh says that it is not stale.
func (m *Memory[K, V]) Get(key K, now time.Time) (value V, fresh, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.held[key]
	return r.value, ok && (m.life == 0 || now.Before(r.until)), ok
}

// Put remembers an answer.
func (m *Memory[K, V]) Put(key K, value V, now time.Time) {
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

// Stale makes the next one ask anew; what was remembered is still there in need.
func (m *Memory[K, V]) Stale(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, ok := m.held[key]; ok {
		r.until = time.Time{}
		m.held[key] = r
	}
}

// Forget forgets the answers for which drop says so.
func (m *Memory[K, V]) Forget(drop func(K, V) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, r := range m.held {
		if drop(k, r.value) {
			delete(m.held, k)
		}
	}
}
