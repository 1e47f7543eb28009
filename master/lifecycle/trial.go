package lifecycle

import "fmt"

// A Trial has what decides about its next step.
type Trial struct {
	State       State
	Restarts    int
	MaxRestarts int
	Unstarted   int    // attempts in a row, before this one, whose program did not start
	StopWanted  bool   // the search wants the trial to end
	Trained     bool   // with StopWanted: it has trained to the end
	KillWanted  bool   // a user wants the trial to end
	Held        bool   // the search wants the trial to wait, with a checkpoint and without slots
	Fail        string // why the search cannot judge it; else ""
	Expired     string // which limit of its time it has reached; else ""
	EarlyExit   string // INVALID_HP, INIT_INVALID_HP, USER_REQUESTED_STOP, or ""
	NoRetry     string // why a log policy forbids another attempt; else ""
	NoNodes     string // why log policies leave no node for another attempt; else ""
}

// maxUnstarted is the number of attempts in a row without a start of the program after which
// the trial fails, so that users see the reason instead of endless attempts.
const maxUnstarted = 5

// Reasons of a trial's exit, for the search.
const (
	ExitDone      = "completed"
	ExitErrored   = "errored"
	ExitInvalidHP = "invalid_hp"
	ExitCanceled  = "canceled"
	ExitStopped   = "stopped" // by the search itself
)

// A TrialStep is the next step of a trial whose attempt has ended, or that has none.
type TrialStep struct {
	State    State
	Error    string
	Restarts int
	Again    bool   // the trial gets another attempt
	Exit     string // with a terminal State: the reason, for the search
}

// AfterExit returns the step of a trial whose attempt has ended, by the first matching rule.
func AfterExit(t Trial, out Step) TrialStep {
	failed := out.Outcome == Failed || out.Outcome == Refused
	switch {
	case t.State.Stopping() || t.KillWanted || t.StopWanted || t.Expired != "": // 1
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
			Error: fmt.Sprintf("%d attempts in a row could not start or run; the last: %s", maxUnstarted, out.ExitReason)}
	case out.Outcome == Lost, out.Outcome == Unplaced, out.Outcome == Killed, out.Outcome == Preempted: // 4, 7
		return again(t, t.Restarts)
	case failed && t.NoRetry != "": // 5
		return TrialStep{State: Errored, Error: out.ExitReason + "; not retried: " + t.NoRetry, Restarts: t.Restarts, Exit: ExitErrored}
	case failed && t.Restarts >= t.MaxRestarts:
		return TrialStep{State: Errored, Error: out.ExitReason, Restarts: t.Restarts, Exit: ExitErrored}
	case failed && t.NoNodes != "":
		return TrialStep{State: Errored, Error: out.ExitReason + "; not retried: " + t.NoNodes, Restarts: t.Restarts + 1, Exit: ExitErrored}
	case failed:
		return again(t, t.Restarts+1)
	}
	return TrialStep{State: Done, Restarts: t.Restarts, Exit: ExitDone} // 6
}

func again(t Trial, restarts int) TrialStep {
	return TrialStep{State: t.State, Restarts: restarts, Again: t.State == Active}
}

// stopped returns the step of a trial that was to end anyway. The first request decides its
// state. A failure that would be tried again does not matter to a search that wants no more of the trial: it has what it
// wanted.
func stopped(t Trial, out Step, failed bool) TrialStep {
	s := TrialStep{Restarts: t.Restarts}
	switch {
	case t.State == StoppingError:
		s.State, s.Exit, s.Error = Errored, ExitErrored, t.Fail
	case t.State == StoppingCanceled, t.State == StoppingKilled, t.KillWanted:
		s.State, s.Exit = Canceled, ExitCanceled
	case t.Expired != "" && !t.StopWanted && out.Outcome == Killed && !out.Unstarted: // it may not have stored a checkpoint
		s.State, s.Exit, s.Error = Canceled, ExitCanceled, t.Expired+"; it was killed, because it had not exited in time"
	case t.Expired != "" && !t.StopWanted:
		s.State, s.Exit, s.Error = Done, ExitStopped, t.Expired
	default:
		s.State, s.Exit = Done, ExitStopped
	}
	// A program that fails while it exits has failed, unless it was killed.
	if failed && t.State != StoppingKilled && !t.KillWanted && s.State != Errored && (s.State != Done || !t.retries(out)) {
		s.State, s.Error, s.Exit = Errored, out.ExitReason, ExitErrored
	}
	return s
}

// retries reports whether a trial would be tried again after a failure.
func (t Trial) retries(out Step) bool {
	return out.Outcome == Failed && !out.Final && t.NoRetry == "" && t.Restarts < t.MaxRestarts
}

func earlyExit(reason string) string {
	if reason == "USER_REQUESTED_STOP" {
		return ExitDone
	}
	return ExitInvalidHP
}

// Action is the request to a trial's running attempt.
type Action string

// The actions, the strongest last.
const (
	ActionNone    Action = ""
	ActionPreempt Action = "preempt" // store a checkpoint and exit
	ActionKill    Action = "kill"
)

// Reasons of a search for the preemption of an attempt, which the pages know.
const (
	WhyTrained = "it has trained to the end"
	WhyStopped = "the search stopped the trial early"
	WhyHeld    = "it waits until the search calls it back"
)

// Follow returns the state of a trial that follows from its experiment's state, and the action
// for its running attempt with the reason.
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
	case t.StopWanted && t.Trained:
		return StoppingCompleted, ActionPreempt, WhyTrained
	case t.StopWanted, experiment == StoppingCompleted:
		return StoppingCompleted, ActionPreempt, WhyStopped
	case t.Expired != "" && t.State != StoppingCanceled:
		return StoppingCompleted, ActionPreempt, t.Expired
	case t.Held && !t.State.Stopping():
		return Paused, ActionPreempt, WhyHeld
	case experiment == Paused:
		return Paused, ActionPreempt, "the experiment was paused"
	case t.State.Stopping():
		return t.State, ActionPreempt, "the trial is being stopped"
	}
	return Active, ActionNone, ""
}

// WithoutAttempt returns the step of a trial without an attempt: it ends, gets an attempt, or
// waits.
func WithoutAttempt(t Trial) TrialStep {
	if t.State.Stopping() {
		return stopped(t, Step{}, false)
	}
	return TrialStep{State: t.State, Restarts: t.Restarts, Again: t.State == Active}
}
