package lifecycle

import (
	"fmt"
	"time"
)

// stop returns the step of an attempt that is to be preempted or killed.
func stop(a Allocation, now time.Time, t Timing) (Step, bool) {
	if !a.KillAt.IsZero() {
		if a.State != Terminating {
			return Step{State: Terminating}, true
		}
		return Step{}, true
	}
	// After a signal the other members have their grace to store a checkpoint, and their runners end it.
	if bad, silent := firstFailure(a); bad != nil && !silent && !afterPreemption(a, bad) {
		if bad.Preempted == killedAfterGrace {
			return tidy("rank %d did not exit within the grace of its preemption", bad.Rank), true
		}
		return tidy("rank %d failed with exit code %d", bad.Rank, bad.ExitCode), true
	}
	for _, m := range a.Members {
		if !m.exited() && !m.Daemon && !m.NomadEndedAt.IsZero() {
			if m.mayReport(now, t) {
				return Step{}, true
			}
			return tidy("rank %d ended without a report", m.Rank), true
		}
	}
	if a.PreemptAt.IsZero() {
		return Step{}, false
	}
	if !allClaimed(a) {
		return Step{State: Terminating, Kill: "it was preempted before it started"}, true
	}
	if now.Sub(a.PreemptAt) > a.PreemptWait {
		return Step{State: Terminating, Kill: fmt.Sprintf("it did not exit within %s of its preemption", a.PreemptWait)}, true
	}
	return Step{}, false
}

// tidy stops the remaining members of an attempt whose outcome is decided.
func tidy(format string, args ...any) Step {
	return Step{State: Terminating, Kill: fmt.Sprintf(format, args...), Cause: Tidy}
}
