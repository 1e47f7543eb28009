package control

import (
	"time"

	"github.com/detent-ml/detent/master/attempts/leftover"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/pace"
	"github.com/detent-ml/detent/master/task"
)

// What is known of how long attempts run, for the scheduler: limits of time, the progress of what runs, and how long earlier trials of
// an experiment took.

// longest is how long an attempt in the queue will run at most; 0 if nobody knows.
func (o *owner) longest() time.Duration {
	bound := o.limit.Bound()
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
		end, hasPace = d.p.paces.End(a.ID, d.p.Now)
	}
	left, limited := o.limit.Left(d.p.Now)
	if !limited {
		return end, hasPace, hasPace
	}
	if stops := d.p.Now.Add(max(left, 0)); hasPace {
		end = end.Within(stops, stops.Add(o.limit.Grace))
	} else {
		end = pace.End{Earliest: d.p.Now, Likely: stops.Add(o.limit.Grace), Latest: stops.Add(o.limit.Grace)}
	}
	return end, hasPace, true
}

// notePaces adds what the trials of a snapshot report. A report is seen up to a cycle after it came.
func (p *Snapshot) notePaces(s *pace.Tracks) {
	live := 0
	for _, e := range p.Experiments {
		for _, t := range e.Trials {
			if a := p.Allocations[t.TaskID]; a != nil && a.StartedAt != nil && t.Progress != nil {
				live++
				s.Note(a.ID, *t.Progress, p.Now)
			}
		}
	}
	s.Forget(live, p.Now)
}

// noteTook adds a trial that has completed with this attempt.
func (p *Snapshot) noteTook(e *Experiment, t *rows.LiveTrial, a *rows.LiveAllocation) {
	if e.took != nil && a.AssignedAt != nil {
		e.took.Note(p.trialLimit(e, t, nil).Held + p.Now.Sub(*a.AssignedAt))
	}
}

// trialLimit is the limit of a trial with this attempt, or without one.
func (p *Snapshot) trialLimit(e *Experiment, t *rows.LiveTrial, a *rows.LiveAllocation) lifecycle.TimeLimit {
	in := e.Pool
	if a != nil {
		in = a.Pool
	}
	l := task.TimeLimit(optional.Value(e.Config.Resources.MaxRuntime), p.Pools.Named(in), t.HeldSeconds)
	l.Grace = task.RuntimeGrace(&e.Config)
	if e.Config.Resume != nil {
		l.Grace += leftover.Keep // after the program's end, its runner stores its folder
	}
	if a != nil {
		l.Since = a.AssignedAt
	}
	return l
}

// taskLimit is the limit of a task that is not a trial. Tasks that the master starts have none.
func (p *Snapshot) taskLimit(t *rows.LiveTask) (l lifecycle.TimeLimit) {
	if t.Type == gcTaskType {
		return l
	}
	own, _ := time.ParseDuration(t.MaxRuntime) // a configuration has no other text there
	in := t.Pool
	a := p.Allocations[t.ID]
	if a != nil {
		in = a.Pool
	}
	if l = task.TimeLimit(expconf.Duration(own), p.Pools.Named(in), t.HeldSeconds); a != nil {
		l.Since = a.AssignedAt
	}
	return l
}

// warn adds a line to the log of an attempt shortly before its limit, once.
func (d *draft) warn(a *rows.LiveAllocation, l lifecycle.TimeLimit, then string) {
	if a.StartedAt == nil || a.WarnedAt != nil || a.PreemptAt != nil || a.KillAt != nil || a.State == string(lifecycle.Terminating) {
		return
	}
	if text := l.Warning(d.p.Now, then); text != "" {
		d.move(a).Warn = text
	}
}
