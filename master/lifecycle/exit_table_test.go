package lifecycle

import (
	"testing"
	"time"
)

// TestExitTable tests the rows of Determined's table for the end of an attempt, in its order:
// the first matching row decides. The rows are written by hand, in addition to the generated
// table of all combinations in testdata, so that nobody changes a rule by accident.
func TestExitTable(t *testing.T) {
	code := 3
	var (
		success   = Step{Outcome: Completed}
		failure   = Step{Outcome: Failed, ExitCode: &code, ExitReason: "exit code 3", Blame: "n1"}
		preempted = Step{Outcome: Preempted}
		lost      = Step{Outcome: Lost, ExitReason: "node n1 was lost"}
		killed    = Step{Outcome: Killed, ExitReason: "it did not make way"}
		refused   = Step{Outcome: Refused, ExitReason: "no such driver"}
		hopeless  = Step{Outcome: Failed, ExitReason: "no such image", Final: true}
		unplaced  = Step{Outcome: Unplaced, ExitReason: "no room", Unstarted: true}
	)
	for _, row := range []struct {
		name  string
		trial Trial
		end   Step
		want  TrialStep
	}{
		{"1: it was to be canceled, and left", Trial{State: StoppingCanceled}, preempted, TrialStep{State: Canceled, Exit: ExitCanceled}},
		{"1: it was to be canceled, and finished first", Trial{State: StoppingCanceled}, success, TrialStep{State: Canceled, Exit: ExitCanceled}},
		{"1: it was to be canceled, and failed", Trial{State: StoppingCanceled}, failure, TrialStep{State: Errored, Error: "exit code 3", Exit: ExitErrored}},
		{"1: it was to be killed, and failed of it", Trial{State: StoppingKilled}, failure, TrialStep{State: Canceled, Exit: ExitCanceled}},
		{"1: it was to end in error", Trial{State: StoppingError, Fail: "no metric"}, killed, TrialStep{State: Errored, Error: "no metric", Exit: ExitErrored}},
		{"1: a stop comes before retries", Trial{State: StoppingCompleted, MaxRestarts: 5}, lost, TrialStep{State: Done, Exit: ExitStopped}},
		{"2: its search stopped it", Trial{State: Active, StopWanted: true}, preempted, TrialStep{State: Done, Exit: ExitStopped}},
		{"2: its search stopped it, and it failed on the way", Trial{State: Active, StopWanted: true, MaxRestarts: 5}, failure, TrialStep{State: Done, Exit: ExitStopped}},
		{"2: its search stopped it, and it failed on the way for the last time", Trial{State: Active, StopWanted: true, Restarts: 5, MaxRestarts: 5}, failure, TrialStep{State: Errored, Error: "exit code 3", Restarts: 5, Exit: ExitErrored}},
		{"3: Nomad never takes it", Trial{State: Active, MaxRestarts: 5}, refused, TrialStep{State: Errored, Error: "Nomad refused its job: no such driver", Exit: ExitErrored}},
		{"3: it cannot ever start", Trial{State: Active, MaxRestarts: 5}, hopeless, TrialStep{State: Errored, Error: "no such image", Exit: ExitErrored}},
		{"4: its node was lost", Trial{State: Active, Restarts: 2, MaxRestarts: 2}, lost, TrialStep{State: Active, Restarts: 2, Again: true}},
		{"4: it was never placed", Trial{State: Active, Restarts: 2, MaxRestarts: 2}, unplaced, TrialStep{State: Active, Restarts: 2, Again: true}},
		{"4: a log policy against retries is about failures", Trial{State: Active, NoRetry: "OOM"}, lost, TrialStep{State: Active, Again: true}},
		{"5: a log policy forbids retries", Trial{State: Active, MaxRestarts: 5, NoRetry: "OOM"}, failure, TrialStep{State: Errored, Error: "exit code 3; not retried: OOM", Exit: ExitErrored}},
		{"5: it failed", Trial{State: Active, Restarts: 1, MaxRestarts: 2}, failure, TrialStep{State: Active, Restarts: 2, Again: true}},
		{"5: it failed too often", Trial{State: Active, Restarts: 2, MaxRestarts: 2}, failure, TrialStep{State: Errored, Error: "exit code 3", Restarts: 2, Exit: ExitErrored}},
		{"5: with no retries at all", Trial{State: Active}, failure, TrialStep{State: Errored, Error: "exit code 3", Exit: ExitErrored}},
		{"5: log policies leave no node", Trial{State: Active, MaxRestarts: 5, NoNodes: "no other node"}, failure, TrialStep{State: Errored, Error: "exit code 3; not retried: no other node", Restarts: 1, Exit: ExitErrored}},
		{"6: it finished", Trial{State: Active, MaxRestarts: 5}, success, TrialStep{State: Done, Exit: ExitDone}},
		{"6: it finished where a line said otherwise", Trial{State: Active, NoRetry: "OOM", NoNodes: "none"}, success, TrialStep{State: Done, Exit: ExitDone}},
		{"7: its hyperparameters are invalid", Trial{State: Active, EarlyExit: "INVALID_HP"}, success, TrialStep{State: Done, Exit: ExitInvalidHP}},
		{"7: it made way", Trial{State: Active, Restarts: 2, MaxRestarts: 2}, preempted, TrialStep{State: Active, Restarts: 2, Again: true}},
		{"7: it did not make way in time", Trial{State: Active, Restarts: 2, MaxRestarts: 2}, killed, TrialStep{State: Active, Restarts: 2, Again: true}},
		{"7: it made way for a pause", Trial{State: Paused, Restarts: 2, MaxRestarts: 2}, preempted, TrialStep{State: Paused, Restarts: 2}},
	} {
		if got := AfterExit(row.trial, row.end); got != row.want {
			t.Errorf("%s:\n got %+v\nwant %+v", row.name, got, row.want)
		}
	}
}

// TestOnlyFailuresCount tests, from the columns of an attempt to its trial's restarts, that only
// failures of the program count as restarts.
func TestOnlyFailuresCount(t *testing.T) {
	at := func(ago time.Duration) time.Time { return now.Add(-ago) }
	running := Member{NodeID: "id1", NodeName: "n1", Nomad: NomadRunning, Started: true, StartedAt: at(time.Hour), ClaimedAt: at(time.Hour)}
	with := func(change func(*Allocation, *Member)) Allocation {
		m := running
		a := Allocation{ID: "1.t.1", State: Running, SubmittedAt: at(2 * time.Hour), PreemptWait: time.Hour}
		change(&a, &m)
		a.Members = []Member{m}
		return a
	}
	for name, c := range map[string]struct {
		attempt Allocation
		counts  bool
		blame   string
	}{
		"its program fails": {with(func(_ *Allocation, m *Member) { m.ExitedAt, m.ExitCode = at(0), 1 }), true, "id1"},
		"its runner is killed": {with(func(_ *Allocation, m *Member) {
			m.Nomad, m.NomadEndedAt = NomadFailed, at(time.Minute)
		}), true, "id1"},
		"its node is lost":                 {with(func(_ *Allocation, m *Member) { m.Nomad = NomadLost }), false, ""},
		"Nomad replaces it":                {with(func(_ *Allocation, m *Member) { m.Replaced = true }), false, ""},
		"Nomad forgets it":                 {with(func(_ *Allocation, m *Member) { m.Nomad = NomadGone }), false, ""},
		"its node is drained":              {with(func(_ *Allocation, m *Member) { m.ExitedAt, m.ExitCode, m.Stopped = at(0), 143, true }), false, ""},
		"its node lacks what it was given": {with(func(_ *Allocation, m *Member) { m.ExitedAt, m.ExitCode, m.Unfit = at(0), 79, true }), false, ""},
		"it makes way": {with(func(a *Allocation, m *Member) {
			a.PreemptAt, a.AckedAt, m.ExitedAt = at(time.Minute), at(time.Second), at(0)
		}), false, ""},
		"it exits by the signal of its preemption": {with(func(a *Allocation, m *Member) {
			a.PreemptAt, a.BySignal, m.ExitedAt, m.ExitCode, m.Preempted = at(time.Minute), true, at(0), 143, exitedAtSignal
		}), false, ""},
		"it saves at the signal of its preemption and exits with code 0": {with(func(a *Allocation, m *Member) {
			a.PreemptAt, a.BySignal, m.ExitedAt, m.Preempted = at(time.Minute), true, at(0), exitedAtSignal
		}), false, ""},
		"it ignores the signal of its preemption and is killed": {with(func(a *Allocation, m *Member) {
			a.PreemptAt, a.BySignal, m.ExitedAt, m.ExitCode, m.Preempted = at(time.Minute), true, at(0), 137, killedAfterGrace
		}), false, ""},
		"it fails at the signal of its preemption": {with(func(a *Allocation, m *Member) {
			a.PreemptAt, a.BySignal, m.ExitedAt, m.ExitCode = at(time.Minute), true, at(0), 1
		}), true, "id1"},
		"it does not make way and is killed": {with(func(a *Allocation, m *Member) {
			a.PreemptAt, a.KillAt, a.KillReason, m.ExitedAt, m.ExitCode = at(2*time.Hour), at(time.Minute), "it did not make way", at(0), 137
		}), false, ""},
	} {
		step := Advance(c.attempt, now, DefaultTiming())
		if step.State != Terminated {
			t.Errorf("%s: it does not end: %+v", name, step)
			continue
		}
		next := AfterExit(Trial{State: Active, Restarts: 1, MaxRestarts: 5}, step)
		want := TrialStep{State: Active, Restarts: 1, Again: true}
		if c.counts {
			want.Restarts = 2
		}
		if next != want || step.Blame != c.blame {
			t.Errorf("%s: %s, then %+v, blaming %q; want %+v, blaming %q", name, step.Outcome, next, step.Blame, want, c.blame)
		}
	}
}
