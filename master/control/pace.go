package control

import (
	"maps"
	"sync"
	"time"
)

// paces knows how fast the running attempts of trials advance, from the progress that they report. A new leader
// begins anew. The loop writes it, and forecasts read it.
type paces struct {
	mu sync.Mutex
	by map[string]*pace // by attempt
}

// A pace is what an attempt has reported while this leader watched. The first value that the leader sees says nothing:
// it may be old.
type pace struct {
	seen        float64 // the newest value
	first, last report
	pause       time.Duration // the longest one between two reports
}

type report struct {
	at   time.Time // when the loop saw it, up to a cycle after the report
	done float64   // from 0 to 1
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
		maps.DeleteFunc(s.by, func(_ string, x *pace) bool { return p.Now.Sub(x.last.at) > maxSilence })
	}
}

func (s *paces) add(attempt string, done float64, now time.Time) {
	x := s.by[attempt]
	switch {
	case x == nil:
		if s.by == nil {
			s.by = map[string]*pace{}
		}
		s.by[attempt] = &pace{seen: done, last: report{at: now}}
	case done == x.seen:
	case done < x.seen: // it has begun again
		*x = pace{seen: done, last: report{at: now}}
	default:
		if x.first.at.IsZero() {
			x.first = report{now, done}
		} else {
			x.pause = max(x.pause, now.Sub(x.last.at))
		}
		x.seen, x.last = done, report{now, done}
	}
}

// When a pace says enough about the end.
const (
	minPaced   = 20 * time.Second // between the first report and the last: a report is seen up to 5 s late
	minPart    = 0.01             // of the whole training
	minSilence = time.Minute      // longer, if the reports were further apart
	maxSilence = 24 * time.Hour
	maxPaced   = 365 * 24 * time.Hour
)

// end is when an attempt will have trained to its end, if it goes on as it has begun; false if that cannot be said. A search may
// end the attempt earlier.
func (s *paces) end(attempt string, now time.Time) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.by[attempt]
	if x == nil || x.first.at.IsZero() {
		return time.Time{}, false
	}
	took, part := x.last.at.Sub(x.first.at), x.last.done-x.first.done
	silent := now.Sub(x.last.at)
	if took < minPaced || part < minPart || silent > min(minSilence+3*x.pause, maxSilence) {
		return time.Time{}, false
	}
	left := (1 - x.last.done) / part * float64(took)
	if left > float64(maxPaced) {
		return time.Time{}, false
	}
	end := x.last.at.Add(time.Duration(left))
	if end.Before(now) {
		end = now
	}
	return end, true
}
