package server

import (
	"fmt"
	"testing"

	"github.com/detent-ml/detent/master/store"
)

func TestLinksOfAJob(t *testing.T) {
	one, two := 1, 2
	for _, c := range []struct {
		of   store.ToSubmit
		want string
	}{
		{store.ToSubmit{TaskType: "TRIAL", TaskID: "t", ExperimentID: &one, TrialID: &two},
			"[{Experiment 1 http://m/det/experiments/1} {Trial 2 http://m/det/experiments/1/trials/2}]"},
		{store.ToSubmit{TaskType: "CHECKPOINT_GC", TaskID: "t", ExperimentID: &one}, "[{Experiment 1 http://m/det/experiments/1}]"},
		{store.ToSubmit{TaskType: "NOTEBOOK", TaskID: "t"}, "[{Open it http://m/proxy/t/} {The task and its log http://m/det/tasks/t}]"},
		{store.ToSubmit{TaskType: "COMMAND", TaskID: "t"}, "[{The task and its log http://m/det/tasks/t}]"},
	} {
		if got := fmt.Sprint(links("http://m", c.of)); got != c.want {
			t.Errorf("%s: %s, want %s", c.of.TaskType, got, c.want)
		}
	}
}
