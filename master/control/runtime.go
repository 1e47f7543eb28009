package control

import (
	"fmt"
	"time"

	"github.com/detent-ml/detent/master/attempts/leftover"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/lifecycle"
)

// A timeLimit is for how long a trial or a task may hold its place, over all its attempts: since its beginning, or its last
// continuation. The time in the queue does not count.
//
// At the limit a trial is preempted as at a pause: its program stores a checkpoint and exits. It is killed if it has not exited
// after the grace. Other tasks are killed at the limit: by a signal first, as at every kill. The log gets a line before.
type timeLimit struct {
	limit time.Duration // 0: there is none
	held  time.Duration // by attempts that have ended
	grace time.Duration
	of    string // whose limit it is, as part of a sentence
}

// warnings come before the end of a limit: after nine tenths of it, but not earlier than this.
const maxWarning = 10 * time.Minute

// timeLimitOf returns the shorter one of a configuration's limit and that of the pool.
func (p *Snapshot) timeLimitOf(own time.Duration, pool string, heldSeconds float64) timeLimit {
	l := timeLimit{limit: own, held: time.Duration(heldSeconds * float64(time.Second)), of: "resources.max_runtime"}
	if in := p.Pools.Named(pool); in != nil && in.MaxRuntime > 0 && (own == 0 || in.MaxRuntime < own) {
		l.limit, l.of = in.MaxRuntime, "the max_runtime of pool "+pool
	}
	return l
}

// trialLimit is the limit of a trial with this attempt, or without one.
func (p *Snapshot) trialLimit(e *Experiment, t *rows.LiveTrial, a *rows.LiveAllocation) timeLimit {
	pool := e.Pool
	if a != nil {
		pool = a.Pool
	}
	var own time.Duration
	if m := e.Config.Resources.MaxRuntime; m != nil {
		own = time.Duration(*m)
	}
	l := p.timeLimitOf(own, pool, t.HeldSeconds)
	l.grace = e.Config.RuntimeGrace()
	if e.Config.Resume != nil {
		l.grace += leftover.Keep // after the program's end, its runner stores its folder
	}
	return l
}

// taskLimit is the limit of a task that is not a trial. Tasks that the master starts have none.
func (p *Snapshot) taskLimit(t *rows.LiveTask, pool string) timeLimit {
	if t.Type == gcTaskType {
		return timeLimit{}
	}
	own, _ := time.ParseDuration(t.MaxRuntime) // a configuration has no other text there
	return p.timeLimitOf(own, pool, t.HeldSeconds)
}

// left is how long an attempt may still hold its place until the limit; false if there is no limit. Without an attempt, it is what
// the next one may.
func (l timeLimit) left(a *rows.LiveAllocation, now time.Time) (time.Duration, bool) {
	if l.limit == 0 {
		return 0, false
	}
	left := l.limit - l.held
	if a != nil && a.AssignedAt != nil {
		left -= now.Sub(*a.AssignedAt)
	}
	return left, true
}

// reached says that the limit is reached; "" if it is not.
func (l timeLimit) reached(a *rows.LiveAllocation, now time.Time) string {
	if left, limited := l.left(a, now); limited && left <= 0 {
		return fmt.Sprintf("it has run for %s, which is %s", expconf.Duration(l.limit), l.of)
	}
	return ""
}

// overdue reports whether the grace after the limit is over, too.
func (l timeLimit) overdue(a *rows.LiveAllocation, now time.Time) bool {
	left, limited := l.left(a, now)
	return limited && left+l.grace <= 0
}

// bound is the time after the start of the next attempt at which it has certainly ended, but for the time that a kill takes; 0 if there
// is no limit.
func (l timeLimit) bound() time.Duration {
	left, limited := l.left(nil, time.Time{})
	if !limited {
		return 0
	}
	return max(left, 0) + l.grace + killMargin
}

// killMargin is the time that a kill takes, with the cycles of the loop.
const killMargin = time.Minute

// warn adds a line to the log of an attempt shortly before the limit, once. then is what happens at the limit.
func (d *draft) warn(a *rows.LiveAllocation, l timeLimit, then string) {
	left, limited := l.left(a, d.p.Now)
	if !limited || a.StartedAt == nil || a.WarnedAt != nil || left <= 0 || left > min(maxWarning, l.limit/10) || a.PreemptAt != nil || a.KillAt != nil ||
		lifecycle.AllocationState(a.State) == lifecycle.Terminating {
		return
	}
	d.move(a).Warn = fmt.Sprintf("%s at %s UTC, in %s: by then it has run for %s, which is %s", then,
		d.p.Now.Add(left).UTC().Format(time.TimeOnly), expconf.Duration(left.Round(time.Second)), expconf.Duration(l.limit), l.of)
}
