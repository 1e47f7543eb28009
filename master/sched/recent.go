package sched

import (
	"math"
	"slices"
	"time"
)

// Fair share with a memory: what a workspace, and a user in it, used lately counts beside what they hold now.
//
// What counts of the past halves with each half-life (pool.Scheduler.HalfLife). The division then makes equal, in proportion to the weights,
// the slots that each share holds and those that would have used in catchUp what the share used lately. So a share that used less than others gets more
// slots, until it has caught up. But a share that wants slots gets at least minPart of what it would get without the past: nobody who used
// idle slots has to wait until all others have caught up.
//
// The past only changes the weights with which slots are divided (weigh), and is the same during a plan. All else about fair shares stays
// true: with other weights, it is another division.

// Recent is what the workspace of a request or a task, and its owner in that workspace, used lately in the pool: slot-hours, of which those of
// a half-life ago count half. Zero under other policies, and without a half-life.
type Recent struct{ Workspace, User float64 }

const (
	catchUp = 6 * time.Hour // or a quarter of the half-life, if that is less
	minPart = 0.25

	levelSteps = 60 // of the search for a level: each halves the error
)

// Use is how many slot-hours count that were used for a time until now, with a half-life.
func Use(slots float64, held, halfLife time.Duration) float64 {
	return slots * halfLife.Hours() / math.Ln2 * (1 - Kept(held, halfLife))
}

// Kept is which part of what was used some time ago counts.
func Kept(ago, halfLife time.Duration) float64 {
	return math.Exp2(-ago.Seconds() / halfLife.Seconds())
}

// noteRecent notes what a job's user and workspace used lately.
func (f *fairShare) noteRecent(job *share, of Recent) {
	life := f.p.pool.Scheduler.HalfLife
	if life <= 0 {
		return
	}
	user, hours := job.parent, min(catchUp, life/4).Hours()
	user.recent, user.past = max(user.recent, of.User), max(user.past, of.User/hours)
	user.parent.recent, user.parent.past = max(user.parent.recent, of.Workspace), max(user.parent.past, of.Workspace/hours)
}

// weigh changes the weights of the children so that their past counts when the share's fair slots are divided among them.
func (s *share) weigh() {
	if s.fair <= nothing || !slices.ContainsFunc(s.children, func(c *share) bool { return c.past > 0 }) {
		return
	}
	least := minPart * s.levelAt(func(c *share, level float64) float64 { return level * c.weight })
	part := func(c *share, level float64) float64 { return max(level*c.weight-c.past, least*c.weight) }
	level := s.levelAt(part)
	for _, c := range s.children {
		c.weight = part(c, level)
	}
}

// levelAt is the level at which the parts of the children, as far as they want them, are the share's fair slots, or all that they want.
func (s *share) levelAt(part func(c *share, level float64) float64) float64 {
	wanted, low, high := 0.0, 0.0, 0.0
	for _, c := range s.children {
		if c.wanted > 0 {
			wanted += float64(c.wanted)
			high = max(high, (float64(c.wanted)+c.past)/c.weight)
		}
	}
	enough := min(s.fair, wanted) - nothing
	for range levelSteps {
		level, sum := (low+high)/2, 0.0
		for _, c := range s.children {
			sum += min(float64(c.wanted), part(c, level))
		}
		if sum < enough {
			low = level
		} else {
			high = level
		}
	}
	return high
}
