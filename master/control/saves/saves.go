// Package saves knows when running trials last stored a checkpoint, so that a preemption chooses those that lose least work. It reads the newest
// checkpoint of at most maxRead attempts at a time, one after the other in the order of their ids, and begins again at the end.
package saves

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/database"
)

// maxRead is how many attempts one read looks at.
const maxRead = 2_000

// Saves are the last checkpoints of running attempts. One program reads the database while others ask.
type Saves struct {
	mu    sync.Mutex
	last  map[string]time.Time
	round map[string]bool // the attempts of this round
	after string          // the attempt that was read last
}

// A save is a running attempt with the time of its trial's newest checkpoint.
type save struct {
	ID string     `db:"id"`
	At *time.Time `db:"at"`
}

// Read reads the next attempts. Those that ask the preemption API store a checkpoint when they are asked to leave, so when they last stored one does
// not matter. A program's own clock may be wrong: no time is later than the database's.
func (s *Saves) Read(ctx context.Context, db *database.DB) error { return s.read(ctx, db, maxRead) }

func (s *Saves) read(ctx context.Context, db *database.DB, most int) error {
	s.mu.Lock()
	after := s.after
	s.mu.Unlock()
	list, err := database.Rows[save](ctx, db, `
		SELECT a.id, CASE WHEN k.reported_at IS NOT NULL THEN least(k.reported_at, now()) END AS at
		FROM (SELECT a.id, t.id AS trial FROM allocations a JOIN trials t ON t.task_id = a.task_id
			WHERE a.state <> 'TERMINATED' AND a.assigned_at IS NOT NULL AND a.preempt_asked_at IS NULL AND a.slots > 0 AND a.id > $1 ORDER BY a.id LIMIT $2) a
		LEFT JOIN LATERAL (SELECT reported_at FROM checkpoints WHERE trial_id = a.trial AND state = 'COMPLETED' ORDER BY steps DESC LIMIT 1) k ON true
		ORDER BY a.id`, after, most)
	if err != nil {
		return err
	}
	s.note(list, most)
	return nil
}

// note adds what was read. A round that is complete replaces the last one, so attempts that have ended are forgotten.
func (s *Saves) note(list []save, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last, s.round = map[string]time.Time{}, map[string]bool{}
	}
	for _, x := range list {
		s.round[x.ID], s.after = true, x.ID
		if x.At != nil {
			s.last[x.ID] = *x.At
		}
	}
	if len(list) < most {
		maps.DeleteFunc(s.last, func(id string, _ time.Time) bool { return !s.round[id] })
		s.round, s.after = map[string]bool{}, ""
	}
}

// Last is when an attempt's trial last stored a checkpoint, which may be that of an earlier attempt; zero if nobody knows.
func (s *Saves) Last(attempt string) time.Time {
	if s == nil {
		return time.Time{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last[attempt]
}
