package lifecycle

import "fmt"

// A Trial as its decisions need it.
type Trial struct {
	State       State
	Restarts    int
	MaxRestarts int
	Unstarted   int    // attempts in a row that never reached their program, before this one
	StopWanted  bool   // the search wants no more of it
	KillWanted  bool   // its owner does not
	Held        bool   // the search wants it to wait, with a checkpoint and without slots
	Fail        string // the search cannot judge it, for this reason
	EarlyExit   string // INVALID_HP, INIT_INVALID_HP, USER_REQUESTED_STOP, or ""
	NoRetry     string // a log policy forbids retries, and why
	NoNodes     string // log policies leave no node for another attempt, and why
}

// maxUnstarted is how often an attempt may fail to reach its program before the
// trial is given up: a cluster that cannot start anything must say so, not spin.
const maxUnstarted = 5

// Exit reasons as the search counts them.
const (
	ExitDone      = "completed"
	ExitErrored   = "errored"
	ExitInvalidHP = "invalid_hp"
	ExitCanceled  = "canceled"
	ExitStopped   = "stopped" // by the search itself
)

// A TrialStep is what becomes of a trial whose attempt ended, or that has none.
type TrialStep struct {
	State    State
	Error    string
	Restarts int
	Again    bool   // wants another attempt
	Exit     string // with a terminal State: the reason, for the search
}

// AfterExit decides after an attempt ended, by the first rule that fits.
func AfterExit(t Trial, out Step) TrialStep {
	failed := out.Outcome == Failed || out.Outcome == Refused
	switch {
	case t.State.Stopping() || t.KillWanted || t.StopWanted: // 1
		return stopped(t, out, failed)
	case t.EarlyExit != "" && !failed: // 2
		return TrialStep{State: Done, Restarts: t.Restarts, Exit: earlyExit(t.EarlyExit)}
	case t.EarlyExit != "":
		return TrialStep{State: Errored, Error: out.ExitReason, Restarts: t.Restarts, Exit: earlyExit(t.EarlyExit)}
	case out.Outcome == Refused: // 3
		return TrialStep{State: Errored, Error: "Nomad refused its job: " + out.ExitReason, Restarts: t.Restarts, Exit: ExitErrored}
	case failed && out.Final:
		return TrialStep{State: Errored, Error: out.ExitReason, Restarts: t.Restarts, Exit: ExitErrored}
	case out.Unstarted && out.Outcome != Killed && t.Unstarted+1 >= maxUnstarted:
		return TrialStep{State: Errored, Restarts: t.Restarts, Exit: ExitErrored,
			Error: fmt.Sprintf("%d attempts in a row did not start; the last: %s", maxUnstarted, out.ExitReason)}
	case out.Outcome == Lost, out.Outcome == Unplaced, out.Outcome == Killed, out.Outcome == Preempted: // 4, 7
		return again(t, t.Restarts)
	case failed && t.NoRetry != "": // 5
		return TrialStep{State: Errored, Error: out.ExitReason + "; not retried: " + t.NoRetry, Restarts: t.Restarts, Exit: ExitErrored}
	case failed && t.Restarts >= t.MaxRestarts:
		return TrialStep{State: Errored, Error: out.ExitReason, Restarts: t.Restarts, Exit: ExitErrored}
	case failed && t.NoNodes != "":
		return TrialStep{State: Errored, Error: out.ExitReason + "; not retried: " + t.NoNodes, Restarts: t.Restarts, Exit: ExitErrored}
	case failed:
		return again(t, t.Restarts+1)
	}
	return TrialStep{State: Done, Restarts: t.Restarts, Exit: ExitDone} // 6
}

func again(t Trial, restarts int) TrialStep {
	return TrialStep{State: t.State, Restarts: restarts, Again: t.State == Active}
}

// stopped: it was to end anyway. How, is what somebody wanted first.
func stopped(t Trial, out Step, failed bool) TrialStep {
	s := TrialStep{Restarts: t.Restarts}
	switch {
	case t.State == StoppingError:
		s.State, s.Exit, s.Error = Errored, ExitErrored, t.Fail
	case t.State == StoppingCanceled, t.State == StoppingKilled, t.KillWanted:
		s.State, s.Exit = Canceled, ExitCanceled
	default:
		s.State, s.Exit = Done, ExitStopped
	}
	// A program that fails on its way out has failed, unless it was killed.
	if failed && t.State != StoppingKilled && !t.KillWanted && s.State != Errored {
		s.State, s.Error, s.Exit = Errored, out.ExitReason, ExitErrored
	}
	return s
}

func earlyExit(reason string) string {
	if reason == "USER_REQUESTED_STOP" {
		return ExitDone
	}
	return ExitInvalidHP
}

// Action is what a trial's running attempt should be asked for.
type Action string

// The urges, from none to strongest.
const (
	ActionNone    Action = ""
	ActionPreempt Action = "preempt" // checkpoint and leave
	ActionKill    Action = "kill"
)

// Follow gives the state that a trial takes from its experiment's, and what its
// running attempt is asked for.
func Follow(t Trial, experiment State) (State, Action, string) {
	if t.State.Terminal() {
		return t.State, ActionNone, ""
	}
	switch {
	case experiment == StoppingKilled:
		return StoppingKilled, ActionKill, "the experiment was killed"
	case experiment == StoppingError:
		return StoppingError, ActionKill, "the experiment failed"
	case t.KillWanted:
		return StoppingKilled, ActionKill, "the trial was killed"
	case t.Fail != "":
		return StoppingError, ActionKill, t.Fail
	case t.State == StoppingKilled || t.State == StoppingError:
		return t.State, ActionKill, "the trial is being stopped"
	case experiment == StoppingCanceled:
		return StoppingCanceled, ActionPreempt, "the experiment was canceled"
	case t.EarlyExit == "INVALID_HP" || t.EarlyExit == "INIT_INVALID_HP":
		return t.State, ActionPreempt, "its hyperparameters are invalid"
	case t.StopWanted, experiment == StoppingCompleted:
		return StoppingCompleted, ActionPreempt, "the search stopped the trial"
	case t.Held && !t.State.Stopping():
		return Paused, ActionPreempt, "it waits until the search calls it back"
	case experiment == Paused:
		return Paused, ActionPreempt, "the experiment was paused"
	case t.State.Stopping():
		return t.State, ActionPreempt, "the trial is being stopped"
	}
	return Active, ActionNone, ""
}

// WithoutAttempt decides for a trial that has no attempt: whether it ends now,
// and if not, whether it wants one.
func WithoutAttempt(t Trial) TrialStep {
	if t.State.Stopping() {
		return stopped(t, Step{}, false)
	}
	return TrialStep{State: t.State, Restarts: t.Restarts, Again: t.State == Active}
}
