package control

import (
	"time"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/optional"
)

// An attemptPass is what the passes of experiments and of tasks decide about attempts.
type attemptPass struct {
	*draft
	outOfUse map[string]*nodes.Row // nodes that are disabled or draining, whole or in part, by id
	leaves   map[string]*departure // nodes whose machines leave, by id; made with outOfUse
}

// advance decides about one attempt: action is what its owner wants, and why the reason for
// users. wait says how long a preempted program may run on. advance returns the last step if
// the attempt has ended, else nil.
func (d *attemptPass) advance(row *rows.LiveAllocation, wait preemption, action lifecycle.Action, why string) *lifecycle.Step {
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
func claims(row *rows.LiveAllocation) (n int) {
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

// A preemption is how an attempt is preempted.
type preemption struct {
	wait     time.Duration // from the request until the master kills it
	bySignal bool          // its runners send a signal, and kill it themselves after their grace
}

func attemptOf(row *rows.LiveAllocation, wait preemption) lifecycle.Allocation {
	a := lifecycle.Allocation{ID: row.ID, State: lifecycle.AllocationState(row.State), SubmittedAt: optional.Value(row.SubmittedAt),
		AssignedAt: optional.Value(row.AssignedAt), TriedAt: optional.Value(row.TriedAt), NoRoom: row.NoRoom, RefusedWhy: row.RefusedWhy, SubmitError: row.SubmitError, PreemptAt: optional.Value(row.PreemptAt), AckedAt: optional.Value(row.PreemptAckedAt),
		PreemptWait: wait.wait, BySignal: wait.bySignal, KillAt: optional.Value(row.KillAt), StoppedAt: optional.Value(row.StoppedAt), KillReason: row.KillReason, Cause: lifecycle.Cause(row.KillCause)}
	for _, m := range row.Members {
		a.Members = append(a.Members, lifecycle.Member{Rank: m.Rank, NodeID: m.NodeID, NodeName: m.NodeName, Nomad: m.NomadStatus,
			NomadDetail: m.NomadDetail, NomadEndedAt: optional.Value(m.NomadEndedAt), NomadExit: m.NomadExit, Pulling: m.Pulling, Started: m.Started, StartedAt: optional.Value(m.StartedAt),
			Replaced: m.Replaced, ClaimedAt: optional.Value(m.ClaimedAt), Daemon: m.Daemon, ExitedAt: optional.Value(m.ExitedAt), ExitCode: optional.Value(m.ExitCode),
			ExitReason: m.ExitReason, Stopped: m.Stopped, Unfit: m.Unfit, Preempted: m.Preempted, LeftoverReadAt: optional.Value(m.LeftoverReadAt)})
	}
	return a
}

// follow moves a queued attempt to its job's pool. It returns true for an attempt that is
// already placed in another pool.
func (d *attemptPass) follow(a *rows.LiveAllocation, pool string) (elsewhere bool) {
	if a.Pool == pool {
		return false
	}
	if a.State == string(lifecycle.Pending) {
		d.move(a).Pool = &pool
		return false
	}
	return true
}

// notBefore is the earliest start of the next attempt: not before a lost attempt has
// certainly ended, and with a growing delay if attempts repeatedly do not start, or fail. The first failure is tried
// again at once.
func (d *attemptPass) notBefore(end lifecycle.Step, unstarted, restarts int) *time.Time {
	at, pause := end.NotBefore, time.Duration(0)
	switch {
	case end.Unstarted && end.Outcome == lifecycle.Unplaced:
		pause = time.Second << min(unstarted, 6)
	case end.Outcome == lifecycle.Failed && restarts > 0:
		pause = time.Second << min(restarts-1, 6)
	}
	if t := d.p.Now.Add(pause); pause > 0 && t.After(at) {
		at = t
	}
	if at.IsZero() {
		return nil
	}
	return &at
}
