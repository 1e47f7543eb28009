package checkpoints_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/checkpoints/keep"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// TestLoggedFilesAreNoCheckpoint: nothing continues from files that a program has logged, and no policy removes them.
func TestLoggedFilesAreNoCheckpoint(t *testing.T) {
	w := newWorld(t)
	exp := w.Experiment(rowtest.LossSearcher)
	trial := w.Trial(exp, 0, 0)
	w.Attempt(trial, 1, 1)
	var ids sync.Map
	var all sync.WaitGroup
	for range 4 { // of concurrent first files, one creates the checkpoint
		all.Go(func() {
			id, err := checkpoints.AddLogged(t.Context(), w.DB, trial, checkpoints.LoggedByRun)
			if err != nil {
				t.Error(err)
			}
			ids.Store(id, true)
		})
	}
	all.Wait()
	n := 0
	ids.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Fatalf("%d checkpoints of one run", n)
	}
	for range 2 {
		if _, err := checkpoints.AddLogged(t.Context(), w.DB, trial, checkpoints.LoggedByModel); err != nil {
			t.Fatal(err)
		}
	}
	if k, err := checkpoints.NewestOf(t.Context(), w.DB, trial); err != nil || k.UUID != "" {
		t.Errorf("continues from %v, %v", k, err)
	}
	w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, reported_at, avg) VALUES ($1, 1, 'validation', 0, 0, now(), '{"loss": 0.5}')`, trial)
	if best, err := checkpoints.BestOf(t.Context(), w.DB, []int{trial}, 1<<20); err != nil || len(best) != 0 {
		t.Errorf("the best: %v, %v", best, err)
	}
	files, err := checkpoints.FilesOfExperiment(t.Context(), w.DB, exp)
	if err != nil || len(files.Checkpoints) != 3 {
		t.Fatalf("%d, %v", len(files.Checkpoints), err)
	}
	if v := keep.Decide(files.Keep(keep.Policy{})); len(v.Remove)+len(v.Spared) != 0 {
		t.Errorf("%+v", v)
	}
	w.Exec(`UPDATE experiments SET desired = 'deleted' WHERE id = $1`, exp)
	if _, err := checkpoints.AddLogged(t.Context(), w.DB, trial, checkpoints.LoggedByModel); !fault.Is(err, fault.Conflict) {
		t.Errorf("in an experiment that is being deleted: %v", err)
	}
}

// TestNamesOfLoggedFiles: only plain paths within a folder.
func TestNamesOfLoggedFiles(t *testing.T) {
	for _, good := range []string{"a", "a/b.txt", "ä b+c&e=f.txt", "..a/b..", "a/.hidden", strings.Repeat("x", 255)} {
		if err := checkpoints.CheckLoggedName(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", ".", "..", "/a", "a/", "a//b", "./a", "a/./b", "a/../b", "../a", "a\x00b", "a\nb", `a\b`, "\xff", strings.Repeat("x", 256), strings.Repeat("x/", 400) + "x"} {
		if err := checkpoints.CheckLoggedName(bad); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", fmt.Sprintf("%.20s", bad), err)
		}
	}
}

// TestConcurrentUploadsOfOneFile: whichever request records a file last, the record has the size of what the storage has.
func TestConcurrentUploadsOfOneFile(t *testing.T) {
	w := newWorld(t)
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 0)
	w.Attempt(trial, 1, 1)
	id, err := checkpoints.AddLogged(t.Context(), w.DB, trial, checkpoints.LoggedByRun)
	if err != nil {
		t.Fatal(err)
	}
	record := func(size, stored int64) {
		t.Helper()
		if err := checkpoints.RecordLogged(t.Context(), w.DB, id, "a.bin", size, func(context.Context) (int64, error) { return stored, nil }); err != nil {
			t.Fatal(err)
		}
		if got := w.Text(`SELECT format('%s %s', resources ->> 'a.bin', size) FROM checkpoints WHERE uuid = $1`, id); got != fmt.Sprint(stored, " ", stored) {
			t.Errorf("recorded %s, want %d", got, stored)
		}
	}
	record(10, 10)
	record(20, 30) // another request has written 30 bytes since this one wrote its 20
	record(30, 30)
}
