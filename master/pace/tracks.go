package pace

import (
	"maps"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/lifecycle"
)

// Tracks are the tracks of many attempts, by their ids. One program writes them while others read.
type Tracks struct {
	mu sync.Mutex
	by map[string]*Track
}

// Note adds a value of an attempt's progress.
func (s *Tracks) Note(attempt string, done float64, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = map[string]*Track{}
	}
	if s.by[attempt] == nil {
		s.by[attempt] = &Track{}
	}
	s.by[attempt].Note(now, done)
}

// Put replaces the track of an attempt.
func (s *Tracks) Put(attempt string, t *Track) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.by[attempt] = t
}

// Forget drops attempts that are not live any more, if there are many of them.
func (s *Tracks) Forget(live map[string]bool) {
	const few = 1_000
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.by) > few+2*len(live) {
		maps.DeleteFunc(s.by, func(id string, _ *Track) bool { return !live[id] })
	}
}

// End is Track.End of an attempt.
func (s *Tracks) End(attempt string, now time.Time) (End, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.by[attempt]; t != nil {
		return t.End(now)
	}
	return End{}, false
}

// EndWithin is when an attempt ends, by its progress and by the limit of its time; false if nothing is known. paced: its progress says so, and
// not only its limit.
func (s *Tracks) EndWithin(attempt string, l lifecycle.TimeLimit, now time.Time) (end End, paced, known bool) {
	if s != nil {
		end, paced = s.End(attempt, now)
	}
	left, limited := l.Left(now)
	if !limited {
		return end, paced, paced
	}
	stops := now.Add(max(left, 0))
	last := stops.Add(l.Grace)
	if !paced {
		return End{now, last, last}, false, true
	}
	return end.Within(stops, last), true, true
}

// Took is how long trials of an experiment took that have completed.
type Took struct {
	last    string // the attempt with which the newest of them completed
	trials  int
	longest time.Duration
	left    time.Duration // how long the last preempted one needed to store a checkpoint and to exit
}

// usualLeave is how long a preempted trial needs to exit, if nothing is known of others of its experiment.
const usualLeave = time.Minute

// NoteLeft adds how long a preempted trial needed to exit.
func (t *Took) NoteLeft(took time.Duration) { t.left = max(took, time.Second) }

// Leaves is how long a preempted trial needs to exit.
func (t *Took) Leaves() time.Duration {
	if t == nil || t.left == 0 {
		return usualLeave
	}
	return t.left
}

// The next trial of an experiment runs no longer than tookMargin times the longest of its trials, after tookTrials of them. If it
// does, it can be preempted.
const (
	tookTrials = 3
	tookMargin = 1.5
)

// Note adds a trial that completed with this attempt and has held its slots for so long. A cycle whose decision could not be stored decides
// the same again, which counts once.
func (t *Took) Note(attempt string, held time.Duration) {
	if attempt == t.last {
		return
	}
	t.last = attempt
	t.trials++
	t.longest = max(t.longest, held)
}

// Bound is how long another trial runs at most; 0 if nobody knows.
func (t *Took) Bound() time.Duration {
	if t == nil || t.trials < tookTrials {
		return 0
	}
	return time.Duration(tookMargin * float64(t.longest))
}
