package checkpoints_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/checkpoints/keep"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// TestTheNewestKeptFolderIsProtected: nobody can remove the folder with which the next attempt begins, however many steps it has and
// whichever checkpoints are named.
func TestTheNewestKeptFolderIsProtected(t *testing.T) {
	w := newWorld(t)
	exp := w.Experiment(rowtest.LossSearcher)
	trial := w.Trial(exp, 0, 0)
	id := func(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-0000000000%02d", n) }
	for run := 1; run <= 3; run++ {
		w.Attempt(trial, run, 1)
		for n, kept := range map[int]bool{run: true, 10 + run: false} {
			late := time.Date(2099, 1, 1, 0, 0, -n, 0, time.UTC)
			if err := checkpoints.Add(t.Context(), w.DB, checkpoints.New{UUID: id(n), TaskID: w.TaskOf(trial), RunID: run, State: "COMPLETED", Steps: 100 - n, ReportedAt: &late,
				Kept: kept, Metadata: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := []string{id(3), id(11)} // the folder of the last attempt, and the checkpoint with the most steps
	all, err := checkpoints.FilesOfExperiment(t.Context(), w.DB, exp)
	if err != nil {
		t.Fatal(err)
	}
	some, err := checkpoints.FilesOfExperimentWith(t.Context(), w.DB, exp, []string{id(1), id(12)})
	if err != nil || len(some.Checkpoints) != 4 {
		t.Errorf("with two named: %d, %v", len(some.Checkpoints), err)
	}
	for name, files := range map[string]checkpoints.ExperimentFiles{"all": all, "two named": some} {
		if got := slices.Sorted(maps.Keys(files.Keep(keep.Policy{}).Needed())); !slices.Equal(got, want) {
			t.Errorf("%s: protected are %v, want %v", name, got, want)
		}
	}
	if best, err := checkpoints.BestOf(t.Context(), w.DB, auth.Everywhere(), []int{trial}, 1<<20); err != nil || len(best) != 0 {
		t.Errorf("the best without a validation: %v, %v", best, err)
	}
	w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, reported_at, avg) VALUES ($1, 3, 'validation', 97, 97, now(), '{"loss": 0.5}')`, trial)
	if best, err := checkpoints.BestOf(t.Context(), w.DB, auth.Everywhere(), []int{trial}, 1<<20); err != nil || len(best) != 0 {
		t.Errorf("a kept folder is the best: %v, %v", best, err)
	}
}
