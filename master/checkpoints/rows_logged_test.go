package checkpoints_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/detent-ml/detent/master/auth"
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
	if best, err := checkpoints.BestOf(t.Context(), w.DB, auth.Everywhere(), []int{trial}, 1<<20); err != nil || len(best) != 0 {
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
		if got := w.Text(`SELECT format('%s %s', `+checkpoints.FilesSQL+` ->> 'a.bin', size) FROM checkpoints k WHERE uuid = $1`, id); got != fmt.Sprint(stored, " ", stored) {
			t.Errorf("recorded %s, want %d", got, stored)
		}
	}
	record(10, 10)
	record(20, 30) // another request has written 30 bytes since this one wrote its 20
	record(30, 30)
}

// TestListsOfLoggedFiles: files are listed and counted alike, whether they are rows or in the list of an earlier release, and a file is in one of both.
func TestListsOfLoggedFiles(t *testing.T) {
	w := newWorld(t)
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 0)
	w.Attempt(trial, 1, 1)
	id, err := checkpoints.AddLogged(t.Context(), w.DB, trial, checkpoints.LoggedByRun)
	if err != nil {
		t.Fatal(err)
	}
	record := func(name string, size int64) error {
		return checkpoints.RecordLogged(t.Context(), w.DB, id, name, size, func(context.Context) (int64, error) { return size, nil })
	}
	state := func() string {
		return w.Text(`SELECT format('%s %s %s %s', `+checkpoints.FilesSQL+`, size, logged_files, logged_names) FROM checkpoints k WHERE uuid = $1`, id)
	}
	w.Exec(`UPDATE checkpoints SET resources = '{"a/old.txt": 5, "b.txt": 6}', size = 11 WHERE uuid = $1`, id)
	for name, size := range map[string]int64{"a/new.txt": 1, "b.txt": 2} {
		if err := record(name, size); err != nil {
			t.Fatal(err)
		}
	}
	if got := state(); got != `{"b.txt": 2, "a/new.txt": 1, "a/old.txt": 5} 8 2 14` {
		t.Error(got)
	}
	for _, clash := range []string{"a", "a/old.txt/x", "a/new.txt/x", "b.txt/x/y"} {
		if err := record(clash, 1); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "a file and a folder") {
			t.Errorf("%s: %v", clash, err)
		}
	}
	if err := record("a0", 0); err != nil { // not in the folder a
		t.Error(err)
	}
	list, err := checkpoints.ListLogged(t.Context(), w.DB, id, "")
	if err != nil || fmt.Sprint(list) != "[{a true 6} {a0 false 0} {b.txt false 2}]" {
		t.Errorf("%v %v", list, err)
	}
	if list, err := checkpoints.LoggedBelow(t.Context(), w.DB, id, "a"); err != nil || fmt.Sprint(list) != "[a/new.txt a/old.txt]" {
		t.Errorf("%v %v", list, err)
	}
	if k, err := checkpoints.Get(t.Context(), w.DB, id); err != nil || fmt.Sprint(k.Resources) != "map[a/new.txt:1 a/old.txt:5 a0:0 b.txt:2]" {
		t.Errorf("%v %v", k.Resources, err)
	}
	if err := checkpoints.SetFiles(t.Context(), w.DB, []checkpoints.Files{{UUID: id, Resources: map[string]int64{"a/old.txt": 5, "a0": 0}}}); err != nil {
		t.Fatal(err)
	}
	if got := state() + w.Text(`SELECT ' ' || state FROM checkpoints WHERE uuid = $1`, id); got != `{"a0": 0, "a/old.txt": 5} 5 0 0 PARTIALLY_DELETED` {
		t.Error(got)
	}
	if err := record("c", 3); err != nil {
		t.Fatal(err)
	}
	if err := checkpoints.SetFiles(t.Context(), w.DB, []checkpoints.Files{{UUID: id}}); err != nil {
		t.Fatal(err)
	}
	if got := state() + w.Text(`SELECT ' ' || state FROM checkpoints WHERE uuid = $1`, id); got != `{"c": 3, "a0": 0, "a/old.txt": 5} 0 0 0 DELETED` {
		t.Error(got)
	}
}

// TestAFurtherFileIsARow: a file among thousands adds one row and writes no list, until a run has as many as are allowed.
func TestAFurtherFileIsARow(t *testing.T) {
	w := newWorld(t)
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 0)
	w.Attempt(trial, 1, 1)
	id, err := checkpoints.AddLogged(t.Context(), w.DB, trial, checkpoints.LoggedByRun)
	if err != nil {
		t.Fatal(err)
	}
	w.Exec(`INSERT INTO logged_files (checkpoint, name, size) SELECT $1, 'many/' || n, 1 FROM generate_series(1, 9999) n`, id)
	w.Exec(`UPDATE checkpoints SET logged_files = 9999, logged_names = 90000, size = 9999 WHERE uuid = $1`, id)
	record := func(name string) error {
		return checkpoints.RecordLogged(t.Context(), w.DB, id, name, 1, func(context.Context) (int64, error) { return 1, nil })
	}
	if err := record("last.txt"); err != nil {
		t.Fatal(err)
	}
	if got := w.Text(`SELECT format('%s %s %s %s', resources, logged_files, logged_names, size) FROM checkpoints WHERE uuid = $1`, id); got != `{} 10000 90008 10000` {
		t.Error(got)
	}
	if err := record("many/7"); err != nil {
		t.Errorf("a file takes the place of another one: %v", err)
	}
	if err := record("one too many"); !fault.Is(err, fault.Invalid) {
		t.Errorf("one too many: %v", err)
	}
	if n := w.Int(`SELECT count(*) FROM logged_files WHERE checkpoint = $1`, id); n != 10000 {
		t.Errorf("%d files", n)
	}
}
