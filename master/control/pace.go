package control

import (
	"maps"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/pace"
)

// paces knows how fast the running attempts of trials advance, from the progress that they report. A new leader
// begins anew. The loop writes it, and forecasts read it.
type paces struct {
	mu sync.Mutex
	by map[string]*pace.Track // by attempt
}

// note adds what the trials of a snapshot report.
func (s *paces) note(p *Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	live := 0
	for _, e := range p.Experiments {
		for _, t := range e.Trials {
			if a := p.Allocations[t.TaskID]; a != nil && a.StartedAt != nil && t.Progress != nil {
				live++
				s.add(a.ID, *t.Progress, p.Now)
			}
		}
	}
	const few = 1_000
	if len(s.by) > few+2*live {
		maps.DeleteFunc(s.by, func(_ string, x *pace.Track) bool { return p.Now.Sub(x.Last()) > maxSilence })
	}
}

func (s *paces) add(attempt string, done float64, now time.Time) {
	x := s.by[attempt]
	if x == nil {
		if s.by == nil {
			s.by = map[string]*pace.Track{}
		}
		x = &pace.Track{}
		s.by[attempt] = x
	}
	x.Note(now, done)
}

// maxSilence is how long an attempt may report nothing until it is forgotten, if there are many.
const maxSilence = 24 * time.Hour

// end estimates when an attempt will have trained to its end; false if that cannot be said. A search may end the attempt earlier.
func (s *paces) end(attempt string, now time.Time) (pace.End, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.by[attempt]
	if x == nil {
		return pace.End{}, false
	}
	return x.End(now)
}
