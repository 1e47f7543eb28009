package task

import (
	"testing"

	"github.com/detent-ml/detent/master/expconf"
)

// TestWhatAnAttemptBeginsWith: the log of each attempt after the first begins with its number, the
// checkpoint from which it continues, and why the previous attempt ended.
func TestWhatAnAttemptBeginsWith(t *testing.T) {
	checkpoint := "c1"
	trial := Attempt{Row: Row{Run: 3, TrialID: 7}, Experiment: &expconf.Config{MaxRestarts: 5}}
	for _, c := range []struct {
		a    Attempt
		m    Claimed
		want string
	}{
		{trial, Claimed{}, ""},
		{trial, Claimed{Rank: 1, FormerRun: 2, FormerOutcome: "failed"}, ""},
		{trial, Claimed{Restarts: 2, FormerRun: 2, FormerOutcome: "failed", FormerReason: "exit code 1", Checkpoint: &checkpoint, StepsCompleted: 30},
			"attempt 3 begins (restart 2 of 5) from checkpoint c1 at 30 steps; attempt 2 failed: exit code 1"},
		{trial, Claimed{FormerRun: 2, FormerOutcome: "preempted", FormerReason: "the experiment was paused"}, "attempt 3 begins; attempt 2 made way: the experiment was paused"},
		{trial, Claimed{FormerRun: 1, FormerOutcome: "completed"}, "attempt 3 begins; attempt 1 ended without a failure"},
		{Attempt{Row: Row{Run: 2}}, Claimed{FormerRun: 1, FormerOutcome: "lost", FormerReason: "node a is down"}, "attempt 2 begins; attempt 1 was lost: node a is down"},
		{trial, Claimed{FormerRun: 2, FormerOutcome: "unplaced", FormerReason: "it could not run on node a: its disk is full"}, "attempt 3 begins; attempt 2 could not run on node a: its disk is full"},
		{trial, Claimed{FormerRun: 2, FormerOutcome: "unplaced", FormerReason: "Nomad did not place it"}, "attempt 3 begins; attempt 2 did not start: Nomad did not place it"},
		{Attempt{Row: Row{Run: 2}}, Claimed{FormerRun: 1, FormerOutcome: "something new"}, "attempt 2 begins; attempt 1 ended"},
	} {
		if got := begins(&c.a, &c.m); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
