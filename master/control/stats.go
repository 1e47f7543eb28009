package control

import (
	"sync"
	"time"

	"github.com/detent-ml/detent/master/store"
)

// Stats is what the loop tells Prometheus.
type Stats struct {
	mu     sync.Mutex
	cycles uint64
	last   time.Duration
	slots  map[string]Demand
	states map[string]int
}

// Demand is a pool's load, in slots.
type Demand struct {
	Held, Wanted int
	Queued       int // attempts
}

func (s *Stats) observe(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cycles, s.last = s.cycles+1, d
}

func (s *Stats) live(l *store.Live) {
	slots, states := map[string]Demand{}, map[string]int{}
	for _, a := range l.Allocations {
		d := slots[a.Pool]
		if a.State == "PENDING" {
			d.Wanted, d.Queued = d.Wanted+a.Slots, d.Queued+1
		} else {
			d.Held += a.Slots
		}
		slots[a.Pool] = d
		states[a.State]++
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slots, s.states = slots, states
}

// Snapshot is the figures as they are; they are zero on a master that does not
// lead.
func (l *Loop) Snapshot() (cycles uint64, last time.Duration, slots map[string]Demand, states map[string]int) {
	l.stats.mu.Lock()
	defer l.stats.mu.Unlock()
	return l.stats.cycles, l.stats.last, l.stats.slots, l.stats.states
}
