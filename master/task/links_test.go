package task

import (
	"fmt"
	"testing"
)

func TestLinksOfAJob(t *testing.T) {
	s := site()
	for _, c := range []struct {
		of   Row
		want string
	}{
		{Row{Type: "TRIAL", TaskID: "t", ExperimentID: 1, TrialID: 2},
			"[{Experiment 1 http://m/det/experiments/1} {Trial 2 http://m/det/experiments/1/trials/2}]"},
		{Row{Type: "CHECKPOINT_GC", TaskID: "t", ExperimentID: 1}, "[{Experiment 1 http://m/det/experiments/1}]"},
		{Row{Type: "NOTEBOOK", TaskID: "t"}, "[{Open it http://m/proxy/t/} {The task and its log http://m/det/tasks/t}]"},
		{Row{Type: "COMMAND", TaskID: "t"}, "[{The task and its log http://m/det/tasks/t}]"},
	} {
		if got := fmt.Sprint(s.links(&Attempt{Row: c.of})); got != c.want {
			t.Errorf("%s: %s, want %s", c.of.Type, got, c.want)
		}
	}
}
