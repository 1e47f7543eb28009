package control

import (
	"sync"
	"time"

	"github.com/detent-ml/detent/master/nodes"
)

// stats has the loop's figures for metrics and the cluster's status.
type stats struct {
	mu     sync.Mutex
	cycles uint64
	last   time.Duration
	leads  bool
	demand *demand              // of the last cycle; nil if it scheduled nothing
	idle   map[string]time.Time // by node: since when it holds no attempt
}

func (s *stats) observe(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cycles, s.last, s.leads = s.cycles+1, d, true
}

func (s *stats) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.leads = 0, false
	s.demand, s.idle = nil, nil
}

// setDemand keeps the demand of a cycle.
func (s *stats) setDemand(d *demand) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.demand = d; d != nil {
		d.follow(s.idle)
		s.idle = d.idleSince
	}
}

// lastDemand returns the demand of the last cycle; nil if the cycle scheduled nothing.
func (s *stats) lastDemand() *demand {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.demand
}

// Stats returns how many cycles this master's loop has run, how long the last one took,
// and whether this master leads.
func (l *Loop) Stats() (cycles uint64, last time.Duration, leads bool) {
	l.stats.mu.Lock()
	defer l.stats.mu.Unlock()
	return l.stats.cycles, l.stats.last, l.stats.leads
}

// Demand returns how many slots and nodes each pool holds and lacks after the last cycle; nil if this master does
// not lead, or schedules nothing because Nomad's state is not trusted.
func (l *Loop) Demand() []nodes.Demand {
	d := l.stats.lastDemand()
	if d == nil {
		return nil
	}
	return d.compute()
}
