package control

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/task"
	"github.com/detent-ml/detent/master/tasks"
)

// A taskPass decides about tasks that are not trials.
type taskPass struct {
	*attemptPass
	rated *ratings
}

// taskBundle decides about one task that is not a trial.
func (d *taskPass) taskBundle(t rows.LiveTask) {
	how := d.p.Handling[t.ID]
	if how == handleLater {
		return
	}
	if how == handleNormally {
		err := d.bundle(t.ID, func() error { d.task(t); return nil })
		if err == nil {
			return
		}
		d.plan.Faults = append(d.plan.Faults, Fault{t.ID, err})
	}
	err := d.bundle(t.ID, func() error { d.endTaskByKilling(t); return nil })
	if err != nil {
		d.plan.Faults = append(d.plan.Faults, Fault{t.ID, err})
	}
}

func (d *taskPass) endTaskByKilling(t rows.LiveTask) {
	why := "the master could not handle this experiment; the master's log has the reason"
	if a := d.p.Allocations[t.ID]; a != nil && d.advance(a, preemption{}, lifecycle.ActionKill, why) == nil {
		return
	}
	d.out.Tasks = append(d.out.Tasks, rows.TaskChange{ID: t.ID, Unstarted: t.Unstarted, Ended: true, ExitStatus: why})
}

// task decides about a task that is not a trial: a command, notebook, shell, TensorBoard,
// generic task or garbage collection. Most of these tasks end because somebody kills them, so
// their exit status says who or what killed the task.
func (d *taskPass) task(t rows.LiveTask) {
	action, why := lifecycle.ActionNone, ""
	switch t.Desired {
	case wantKill:
		action, why = lifecycle.ActionKill, cmp.Or(t.KillReason, "it was killed")
	case wantPause:
		action, why = lifecycle.ActionKill, cmp.Or(t.KillReason, "it was paused")
	}
	attempt := d.p.Allocations[t.ID]
	if attempt == nil {
		d.taskWithoutAttempt(t, why)
		return
	}
	d.follow(attempt, t.Pool)
	if action == lifecycle.ActionNone && t.Type != gcTaskType {
		action, why = d.eviction(attempt, false)
	}
	limit := d.p.taskLimit(&t)
	if reached := limit.Reached(d.p.Now); reached != "" && action == lifecycle.ActionNone {
		action, why = lifecycle.ActionKill, reached
	}
	d.warn(attempt, limit, "this task will be ended")
	if t.Desired == wantPause {
		d.pauseAttempt(attempt, why)
	}
	end := d.advance(attempt, preemption{}, action, why)
	if end == nil {
		return
	}
	paused := d.wasPaused(attempt, *end)
	if paused && t.Desired != wantKill {
		if t.Desired != wantPause { // it was resumed before its attempt had ended
			d.attempt(t, attempt.RunID+1, end)
		}
		return
	}
	c := rows.TaskChange{ID: t.ID, Ended: true, ExitStatus: exitStatus(*end)}
	if paused {
		c.ExitStatus = why // its attempt ended because of the pause, and its task because of the kill
	}
	if action == lifecycle.ActionKill && t.Desired != wantPause && t.Type != task.Command && end.Outcome == lifecycle.Completed {
		c.ExitStatus = why // a killed server exits with code 0, which says nothing
	}
	if t.Type == task.Command && end.Outcome == lifecycle.Killed && end.ExitCode != nil && *end.ExitCode == 0 {
		c.ExitStatus = success // it was done all the same
	}
	nobodysFault := end.Outcome == lifecycle.Unplaced || end.Outcome == lifecycle.Lost && end.Unstarted
	if action == lifecycle.ActionNone && nobodysFault && t.Unstarted+1 < maxLaunches {
		c = rows.TaskChange{ID: t.ID, Unstarted: t.Unstarted + 1}
		d.attempt(t, attempt.RunID+1, end)
	}
	if action == lifecycle.ActionNone && c.Ended && retryGC(t, attempt.RunID, *end) {
		c = rows.TaskChange{ID: t.ID, Unstarted: t.Unstarted}
		d.attempt(t, attempt.RunID+1, end)
	}
	d.out.Tasks = append(d.out.Tasks, c)
}

// maxLaunches is how often the loop tries to start a task that is not a trial.
const maxLaunches = 5

func (d *taskPass) attempt(t rows.LiveTask, run int, end *lifecycle.Step) {
	a := tasks.NewAttempt{ID: t.ID + "." + strconv.Itoa(run), TaskID: t.ID, RunID: run, Pool: t.Pool, Slots: t.Slots, Priority: t.Priority}
	if end != nil {
		a.Exclude, a.NotBefore = end.Avoid, d.notBefore(*end, t.Unstarted, 0)
	}
	if end != nil && t.Type == gcTaskType && a.NotBefore == nil {
		later := d.p.Now.Add(gcPause << (2 * (run - 2)))
		a.NotBefore = &later
	}
	d.out.NewAllocations = append(d.out.NewAllocations, a)
	d.queue = append(d.queue, queued{NewAttempt: a, owner: d.ownerOf(t), queuedAt: t.QueuedAt})
}

func (d *taskPass) ownerOf(t rows.LiveTask) owner {
	of := d.rated.ownerOfTask(&t)
	of.limit = d.p.taskLimit(&t)
	of.limit.Since = nil
	return of
}

// success is the exit status of a task that completed.
const success = "success"

func exitStatus(end lifecycle.Step) string {
	switch {
	case end.Outcome == lifecycle.Completed:
		return success
	case end.Outcome == lifecycle.Killed && end.ExitReason != "":
		return end.ExitReason
	case end.ExitCode != nil && !strings.HasSuffix(end.ExitReason, fmt.Sprintf("exit code %d", *end.ExitCode)):
		return fmt.Sprintf("%s (exit code %d): %s", end.Outcome, *end.ExitCode, end.ExitReason)
	}
	return fmt.Sprintf("%s: %s", end.Outcome, end.ExitReason)
}
