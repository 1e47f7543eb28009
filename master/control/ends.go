package control

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/attempts/leftover"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/pace"
	"github.com/detent-ml/detent/master/sleep"
	"github.com/detent-ml/detent/master/task"
)

// What is known of how long attempts run, for the scheduler: limits of time, the progress of what runs, and how long earlier trials of
// an experiment took.

// notePaces adds what the trials of a snapshot report. A report is seen up to a cycle after it came.
func (p *Snapshot) notePaces(s *pace.Tracks) {
	live := map[string]bool{}
	for _, e := range p.Experiments {
		for _, t := range e.Trials {
			if a := p.Allocations[t.TaskID]; a != nil && a.StartedAt != nil && t.Progress != nil {
				live[a.ID] = true
				s.Note(a.ID, *t.Progress, p.Now)
			}
		}
	}
	s.Forget(live)
}

// noteTook adds a trial that has completed with this attempt.
func (p *Snapshot) noteTook(e *Experiment, t *rows.LiveTrial, a *rows.LiveAllocation) {
	if e.took != nil && a.AssignedAt != nil {
		e.took.Note(a.ID, p.trialLimit(e, t, nil).Held+p.Now.Sub(*a.AssignedAt))
	}
}

// tookBound is how long another trial of an experiment runs at most, as far as the others say; 0: not known. A trial whose program may take
// longer than usual to exit when it is preempted does not get slots on loan for that.
func tookBound(e *Experiment) time.Duration {
	if e.Config.PreemptionSeconds() > expconf.DefaultPreemptionTimeout {
		return 0
	}
	return e.took.Bound()
}

// noteLeft adds how long a preempted attempt needed to store its checkpoint and to exit.
func (p *Snapshot) noteLeft(e *Experiment, a *rows.LiveAllocation) {
	if e.took != nil && a.PreemptAt != nil && a.KillAt == nil {
		e.took.NoteLeft(p.Now.Sub(*a.PreemptAt))
	}
}

// savesWhenAsked reports whether the configuration says that programs of an experiment store their work when they are preempted.
func savesWhenAsked(e *Experiment) bool { return e.Config.Preemption != nil || e.Config.Resume != nil }

// savedAt is since when an attempt would do its work again if it were preempted now; zero: since its start, as far as the master knows. A program that
// stores a checkpoint when it is asked to leave loses the time that this takes.
func (p *Snapshot) savedAt(a *rows.LiveAllocation, o *owner) time.Time {
	if a.PreemptAskedAt != nil || o.saves {
		return p.Now.Add(-o.leaves)
	}
	return p.saves.Last(a.ID)
}

// readEvery is how often the leader reads when running trials last stored a checkpoint.
const readEvery = 10 * time.Second

// readSaves reads it again and again.
func (t *term) readSaves(ctx context.Context) {
	for {
		if err := t.folds.saves.Read(ctx, t.db); err != nil && ctx.Err() == nil {
			t.log.Warn("could not read when running trials last stored a checkpoint; retrying", "term", t.lead.Term, "error", err)
		}
		if sleep.For(ctx, readEvery) != nil {
			return
		}
	}
}

// trialLimit is the limit of a trial with this attempt, or without one.
func (p *Snapshot) trialLimit(e *Experiment, t *rows.LiveTrial, a *rows.LiveAllocation) lifecycle.TimeLimit {
	in, since := placeOf(a, e.Pool)
	l := task.TimeLimit(optional.Value(e.Config.Resources.MaxRuntime), p.Pools.Named(in), t.HeldSeconds, since)
	l.Grace = task.RuntimeGrace(&e.Config)
	if e.Config.Resume != nil {
		l.Grace += leftover.Keep // after the program's end, its runner stores its folder
	}
	return l
}

// taskLimit is the limit of a task that is not a trial.
func (p *Snapshot) taskLimit(t *rows.LiveTask) lifecycle.TimeLimit {
	in, since := placeOf(p.Allocations[t.ID], t.Pool)
	return task.TimeLimitOf(t.Type, t.MaxRuntime, p.Pools.Named(in), t.HeldSeconds, since)
}

// placeOf is the pool of an attempt, and since when it holds a place there; without one, this pool.
func placeOf(a *rows.LiveAllocation, pool string) (string, *time.Time) {
	if a == nil {
		return pool, nil
	}
	return a.Pool, a.AssignedAt
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
