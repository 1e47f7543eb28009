package task

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/detent-ml/detent/master/lifecycle"
)

// begins returns a line for the task's log about an attempt that is not the first: that it
// begins, and why the attempt before it ended. It is "" for the first attempt, and for all
// members but one.
func begins(a *Attempt, m *Claimed) string {
	if m.Rank != 0 || m.FormerRun == 0 {
		return ""
	}
	var s strings.Builder
	fmt.Fprintf(&s, "attempt %d begins", a.Run)
	if a.IsTrial() {
		if m.Restarts > 0 {
			fmt.Fprintf(&s, " (restart %d of %d)", m.Restarts, a.Experiment.MaxRestarts)
		}
		if m.Checkpoint != nil {
			fmt.Fprintf(&s, " from checkpoint %s at %d steps", *m.Checkpoint, m.StepsCompleted)
		}
	}
	how := map[lifecycle.Outcome]string{
		lifecycle.Completed: "ended without a failure", lifecycle.Preempted: "made way", lifecycle.Failed: "failed", lifecycle.Killed: "was stopped",
		lifecycle.Lost: "was lost", lifecycle.Refused: "was refused by Nomad", lifecycle.Unplaced: "did not start",
	}[lifecycle.Outcome(m.FormerOutcome)]
	if could, ran := strings.CutPrefix(m.FormerReason, "it could not run "); ran { // its program may have begun
		return s.String() + fmt.Sprintf("; attempt %d could not run %s", m.FormerRun, could)
	}
	how = cmp.Or(how, "ended")
	fmt.Fprintf(&s, "; attempt %d %s", m.FormerRun, how)
	if m.FormerReason != "" {
		s.WriteString(": " + m.FormerReason)
	}
	return s.String()
}
