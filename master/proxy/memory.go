package proxy

import (
	"sync"
	"time"
)

// A memory keeps answers for a while, so that a page of a hundred requests asks
// the database once. It is bounded: at the bound what is stale goes, and if that
// frees nothing, everything.
type memory[K comparable, V any] struct {
	life time.Duration
	most int

	mu   sync.Mutex
	held map[K]remembered[V]
}

type remembered[V any] struct {
	value V
	until time.Time
}

func newMemory[K comparable, V any](life time.Duration, most int) *memory[K, V] {
	return &memory[K, V]{life: life, most: most, held: map[K]remembered[V]{}}
}

// get gives what is remembered; fresh says that it is not stale.
func (m *memory[K, V]) get(key K, now time.Time) (value V, fresh, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.held[key]
	return r.value, ok && now.Before(r.until), ok
}

func (m *memory[K, V]) put(key K, value V, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.held) >= m.most {
		for k, r := range m.held {
			if now.After(r.until) {
				delete(m.held, k)
			}
		}
		if len(m.held) >= m.most {
			clear(m.held)
		}
	}
	m.held[key] = remembered[V]{value, now.Add(m.life)}
}

// stale makes the next one ask anew; what was remembered is still there in need.
func (m *memory[K, V]) stale(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, ok := m.held[key]; ok {
		r.until = time.Time{}
		m.held[key] = r
	}
}
