package control

import (
	"time"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/pace"
)

// What is known of how long attempts run, for the scheduler: limits of time, the progress of what runs, and how long earlier trials of
// an experiment took.

// took is how long the trials of an experiment took that have completed while this leader watched. A new leader begins anew.
type took struct {
	trials  int
	longest time.Duration // for which one held its slots
}

// A new trial of an experiment runs no longer than tookMargin times the longest of its trials, after tookTrials of them. If it
// does, it can be preempted.
const (
	tookTrials = 3
	tookMargin = 1.5
)

// note adds a trial that has completed.
func (t *took) note(a *rows.LiveAllocation, heldSeconds float64, now time.Time) {
	if t == nil || a.AssignedAt == nil {
		return
	}
	t.trials++
	t.longest = max(t.longest, time.Duration(heldSeconds*float64(time.Second))+now.Sub(*a.AssignedAt))
}

// bound is how long a new trial runs; 0 if nobody knows.
func (t *took) bound() time.Duration {
	if t == nil || t.trials < tookTrials {
		return 0
	}
	return time.Duration(tookMargin * float64(t.longest))
}

// longest is how long an attempt in the queue will run at most; 0 if nobody knows.
func (o *owner) longest() time.Duration {
	bound := o.limit.bound()
	if o.preemptible && o.took > 0 && (bound == 0 || o.took < bound) {
		bound = o.took
	}
	return bound
}

// runsOut reports whether the trials of an experiment run to the end of their training: a search that stops trials early may end
// them at any time.
func (e *Experiment) runsOut() bool {
	switch e.Config.Searcher.Name {
	case expconf.Single, expconf.Random, expconf.Grid:
		return true
	}
	return false
}

// endOf is when a running attempt ends, from its progress and from the limit of its time; false if nothing is known. hasPace: its progress
// says so, and not only its limit.
func (d *queuePass) endOf(a *rows.LiveAllocation, o *owner) (end pace.End, hasPace, known bool) {
	if d.p.paces != nil && a.StartedAt != nil {
		end, hasPace = d.p.paces.end(a.ID, d.p.Now)
	}
	left, limited := o.limit.left(a, d.p.Now)
	if !limited {
		return end, hasPace, hasPace
	}
	stops := d.p.Now.Add(max(left, 0))
	last := stops.Add(o.limit.grace)
	if !hasPace {
		return pace.End{Earliest: d.p.Now, Likely: last, Latest: last}, false, true
	}
	return pace.End{Earliest: first(end.Earliest, stops), Likely: first(end.Likely, last), Latest: first(end.Latest, last)}, true, true
}

func first(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
