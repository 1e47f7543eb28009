package control

import (
	"slices"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/lifecycle"
)

// What users want of a task that is not a trial, as tasks.desired has it. Only generic tasks
// can be paused.
const (
	wantKill  = "kill"
	wantPause = "pause"
)

// taskWithoutAttempt decides about a task whose last attempt has ended, or that has had none:
// it ends if it was killed, and runs unless it is paused.
func (d *taskPass) taskWithoutAttempt(t rows.LiveTask, why string) {
	switch {
	case t.Desired == wantKill && t.Runs == 0:
		d.out.Tasks = append(d.out.Tasks, rows.TaskChange{ID: t.ID, Ended: true, ExitStatus: why + ", before it started"})
	case t.Desired == wantKill:
		d.out.Tasks = append(d.out.Tasks, rows.TaskChange{ID: t.ID, Unstarted: t.Unstarted, Ended: true, ExitStatus: why})
	case t.Desired != wantPause && d.p.taskLimit(&t).Reached(d.p.Now) != "": // it was paused
		d.out.Tasks = append(d.out.Tasks, rows.TaskChange{ID: t.ID, Unstarted: t.Unstarted, Ended: true, ExitStatus: d.p.taskLimit(&t).Reached(d.p.Now)})
	case t.Desired != wantPause:
		d.attempt(t, t.Runs+1, nil)
	}
}

// pauseAttempt marks an attempt as one that ends because its task is paused. The mark is the
// time of its preemption: nothing else preempts attempts of tasks that are not trials.
func (d *taskPass) pauseAttempt(a *rows.LiveAllocation, why string) {
	if a.PreemptAt == nil {
		d.move(a).Preempt = &why
	}
}

// wasPaused reports whether an attempt ended because its task was paused. A program that had
// ended by itself by then decides the end of its task.
func (d *taskPass) wasPaused(a *rows.LiveAllocation, end lifecycle.Step) bool {
	if a.PreemptAt == nil && d.move(a).Preempt == nil {
		return false
	}
	switch end.Outcome {
	case lifecycle.Failed, lifecycle.Refused:
		return false
	case lifecycle.Completed:
		return slices.ContainsFunc(a.Members, func(m rows.LiveMember) bool { return m.Stopped })
	}
	return true
}
