package control

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/store"
	"github.com/detent-ml/detent/master/task"
)

// A move is what this cycle changes about an attempt, with the attempt's row.
type move struct {
	store.AllocationChange
	row *store.LiveAllocation
	key string // of the bundle that has the change; "" if the attempt gets its own bundle
}

func (m *move) changed() bool {
	return m.State != m.Saw || m.Preempt != nil || m.Kill != nil || m.Waiting != nil || m.Pool != nil || m.Started
}

func (d *decider) move(a *store.LiveAllocation) *move {
	m := d.moves[a.ID]
	if m == nil {
		m = &move{AllocationChange: store.AllocationChange{ID: a.ID, Saw: a.State, State: a.State}, row: a, key: d.key}
		d.moves[a.ID] = m
		d.fresh = append(d.fresh, a.ID)
	}
	return m
}

// advance decides about one attempt: action is what its owner wants, and why the reason for
// users. wait is how long a preempted program may run on. advance returns the last step if
// the attempt has ended, else nil.
func (d *decider) advance(row *store.LiveAllocation, wait time.Duration, action lifecycle.Action, why string) *lifecycle.Step {
	a := attemptOf(row, wait)
	m := d.move(row)
	switch {
	case action == lifecycle.ActionKill && a.KillAt.IsZero():
		a.KillAt, a.KillReason = d.p.Now, why
		m.Kill = &why
	case action == lifecycle.ActionPreempt && a.PreemptAt.IsZero():
		a.PreemptAt = d.p.Now
		m.Preempt = &why
	}
	if d.p.frozen(row.Pool) != "" {
		for i := range a.Members { // ignore Nomad's state, which is not trusted; use the runners' reports
			a.Members[i] = withoutNomad(a.Members[i])
		}
		a.TriedAt = time.Time{} // no job is submitted either, so its time limit does not run
	}
	step := lifecycle.Advance(a, d.p.Now, d.p.Timing)
	if why := d.excuse(row, step); why != "" {
		step.Outcome, step.Blame = lifecycle.Lost, ""
		step.ExitReason += "; " + why
	}
	if d.p.blamesVault(row) {
		step.Avoid = nil
	}
	if step.State != "" {
		m.State = string(step.State)
	}
	if step.Kill != "" && a.KillAt.IsZero() && m.Kill == nil {
		m.Kill, m.KillCause = &step.Kill, string(step.Cause)
	}
	m.Started = step.Started
	if step.State != lifecycle.Terminated {
		return nil
	}
	if m.Unstarted = step.Unstarted; m.Unstarted {
		m.Claimed = claims(row)
	}
	if step.Outcome == lifecycle.Failed {
		m.Unhealthy = d.p.unhealthyDevices(row)
	}
	m.Ended, m.Outcome, m.ExitCode, m.ExitReason = true, string(step.Outcome), step.ExitCode, step.ExitReason
	return &step
}

// claims counts the members whose runners have claimed.
func claims(row *store.LiveAllocation) (n int) {
	for _, m := range row.Members {
		if m.ClaimedAt != nil {
			n++
		}
	}
	return n
}

// withoutNomad removes the facts from Nomad that would end or delay the member.
func withoutNomad(m lifecycle.Member) lifecycle.Member {
	m.NomadEndedAt, m.Replaced = time.Time{}, false
	switch m.Nomad {
	case lifecycle.NomadLost, lifecycle.NomadGone, lifecycle.NomadFailed, lifecycle.NomadComplete:
		m.Nomad = lifecycle.NomadUnknown
	}
	return m
}

func attemptOf(row *store.LiveAllocation, wait time.Duration) lifecycle.Allocation {
	a := lifecycle.Allocation{ID: row.ID, State: lifecycle.AllocationState(row.State), SubmittedAt: at(row.SubmittedAt),
		AssignedAt: at(row.AssignedAt), TriedAt: at(row.TriedAt), NoRoom: row.NoRoom, RefusedWhy: row.RefusedWhy, SubmitError: row.SubmitError, PreemptAt: at(row.PreemptAt), AckedAt: at(row.PreemptAckedAt),
		PreemptWait: wait, KillAt: at(row.KillAt), StoppedAt: at(row.StoppedAt), KillReason: row.KillReason, Cause: lifecycle.Cause(row.KillCause)}
	for _, m := range row.Members {
		a.Members = append(a.Members, lifecycle.Member{Rank: m.Rank, NodeID: m.NodeID, NodeName: m.NodeName, Nomad: m.NomadStatus,
			NomadDetail: m.NomadDetail, NomadEndedAt: at(m.NomadEndedAt), NomadExit: m.NomadExit, Pulling: m.Pulling, Started: m.Started, StartedAt: at(m.StartedAt),
			Replaced: m.Replaced, ClaimedAt: at(m.ClaimedAt), Daemon: m.Daemon, ExitedAt: at(m.ExitedAt), ExitCode: optional.Value(m.ExitCode),
			ExitReason: m.ExitReason, Stopped: m.Stopped, Unfit: m.Unfit, LeftoverReadAt: at(m.LeftoverReadAt)})
	}
	return a
}

// task decides about a task that is not a trial: a command, notebook, shell, TensorBoard,
// generic task or garbage collection. Most of these tasks end because somebody kills them, so
// their exit status says who or what killed the task.
func (d *decider) task(t store.LiveTask) {
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
	if t.Desired == wantPause {
		d.pauseAttempt(attempt, why)
	}
	end := d.advance(attempt, 0, action, why)
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
	c := store.TaskChange{ID: t.ID, Ended: true, ExitStatus: exitStatus(*end)}
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
		c = store.TaskChange{ID: t.ID, Unstarted: t.Unstarted + 1}
		d.attempt(t, attempt.RunID+1, end)
	}
	if action == lifecycle.ActionNone && c.Ended && retryGC(t, attempt.RunID, *end) {
		c = store.TaskChange{ID: t.ID, Unstarted: t.Unstarted}
		d.attempt(t, attempt.RunID+1, end)
	}
	d.out.Tasks = append(d.out.Tasks, c)
}

// maxLaunches is how often the loop tries to start a task that is not a trial.
const maxLaunches = 5

func (d *decider) attempt(t store.LiveTask, run int, end *lifecycle.Step) {
	a := store.NewAllocation{ID: t.ID + "." + strconv.Itoa(run), TaskID: t.ID, RunID: run, Pool: t.Pool, Slots: t.Slots, Priority: t.Priority}
	if end != nil {
		a.Exclude, a.NotBefore = end.Avoid, d.notBefore(*end, t.Unstarted, 0)
	}
	if end != nil && t.Type == gcTaskType && a.NotBefore == nil {
		later := d.p.Now.Add(gcPause << (2 * (run - 2)))
		a.NotBefore = &later
	}
	d.out.NewAllocations = append(d.out.NewAllocations, a)
	d.queue = append(d.queue, queued{NewAllocation: a, group: t.ID, shape: shape{single: !t.Several}, queueTime: t.QueueTime, since: t.QueuedAt, secrets: d.p.taskNeedsSecrets(&t), avoid: d.taskChoice(&t), of: sharerOfTask(&t), ours: t.Type == task.Removal})
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

func at(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
