package checkpoints_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/task"
)

// longOver creates an experiment of an owner that ended three days ago, with one attempt.
func (w *world) longOver(owner, storage, outcome string) int {
	w.T.Helper()
	e, trial := w.ended()
	id := w.Attempt(trial, 1, 1)
	w.Exec(`UPDATE allocations SET state = 'TERMINATED', outcome = $2, started_at = now() - interval '4 days', ended_at = now() - interval '3 days' WHERE id = $1`, id, outcome)
	w.Exec(`UPDATE trials SET ended_at = now() - interval '3 days' WHERE id = $1`, trial)
	w.Exec(`UPDATE experiments SET ended_at = now() - interval '3 days', owner_id = (SELECT id FROM users WHERE username = $2),
		config = jsonb_set(config, '{checkpoint_storage}', jsonb_build_object('type', $3::text)) WHERE id = $1`, e, owner, storage)
	return e
}

// unswept lists experiments to decide about, as "3 unclean, 1 clean".
func (w *world) unswept(limit int) string {
	w.T.Helper()
	list, err := checkpoints.UnsweptExperiments(w.T.Context(), w.DB, limit)
	if err != nil {
		w.T.Fatal(err)
	}
	var words []string
	for _, u := range list {
		word := "clean"
		if u.Unclean {
			word = "unclean"
		}
		words = append(words, fmt.Sprintf("%d %s", u.ID, word))
	}
	return strings.Join(words, ", ")
}

// sweep stores a decision about a sweep.
func (w *world) sweep(e int, made bool) (string, error) {
	list, err := checkpoints.UnsweptExperiments(context.Background(), w.DB, 100)
	if err != nil {
		return "", err
	}
	c := checkpoints.NewGC{TaskID: checkpoints.GCTaskID(e), ExperimentID: e, Reason: checkpoints.BySweep, Pool: "default", Priority: 42, Saw: "COMPLETED"}
	for _, u := range list {
		if u.ID == e && made {
			c.Sweep = &task.Sweep{Since: *u.Since, Until: u.Until}
		}
	}
	err = w.DB.Tx(context.Background(), func(tx *database.DB) error {
		got, err := checkpoints.CreateGC(context.Background(), tx, c)
		if err == nil && got != made {
			err = fmt.Errorf("made: %t, want %t", got, made)
		}
		return err
	})
	return c.TaskID, err
}

// TestWhatIsDueForASweep: an experiment is due two days after its end, once after each end, and owners take turns.
func TestWhatIsDueForASweep(t *testing.T) {
	w := newWorld(t)
	is := func(want string) {
		t.Helper()
		if got := w.unswept(100); got != want {
			t.Errorf("due: %q, want %q", got, want)
		}
	}
	e := w.longOver("determined", "s3", "lost")
	f := w.longOver("determined", "s3", "completed")
	g := w.longOver("admin", "gcs", "failed")
	turns := fmt.Sprintf("%d unclean, %d unclean, %d clean", e, g, f)
	is(turns)
	if got, want := w.unswept(2), fmt.Sprintf("%d unclean, %d unclean", e, g); got != want {
		t.Errorf("the first turns are %q, want %q", got, want)
	}
	for name, change := range map[string]string{
		"ended yesterday":  "ended_at = now() - interval '47 hours'",
		"runs":             "state = 'ACTIVE', ended_at = NULL",
		"is to go on":      "continues = continued + 1",
		"is to be deleted": "desired = 'deleted'",
		"unmanaged":        "unmanaged = true",
	} {
		old := w.Text(`SELECT to_jsonb(e)::text FROM experiments e WHERE id = $1`, e)
		w.Exec(`UPDATE experiments SET `+change+` WHERE id = $1`, e)
		if got, want := w.unswept(100), fmt.Sprintf("%d clean, %d unclean", f, g); got != want {
			t.Errorf("%s: due are %q, want %q", name, got, want)
		}
		w.Exec(`UPDATE experiments SET (state, ended_at, continues, desired, unmanaged) = (SELECT r.state, r.ended_at, r.continues, r.desired, r.unmanaged
			FROM jsonb_populate_record(NULL::experiments, $2::jsonb) r) WHERE id = $1`, e, old)
	}
	is(turns)
	if _, err := w.sweep(f, false); err != nil {
		t.Error(err)
	}
	if _, err := w.sweep(g, true); err != nil {
		t.Error(err)
	}
	is(fmt.Sprintf("%d unclean", e))
	w.Exec(`UPDATE tasks SET ended_at = now(), exit_status = 'failed' WHERE type = 'CHECKPOINT_GC'`)
	is(fmt.Sprintf("%d unclean", e)) // once, even if it failed
	w.Exec(`UPDATE experiments SET swept_at = ended_at - interval '1 hour' WHERE id = $1`, f)
	is(fmt.Sprintf("%d unclean, %d clean", e, f)) // it went on and ended again
}

// TestSharedFoldersWait: a storage that experiments share is not due while an attempt or an unmanaged trial is left that began
// before the experiment's time was over.
func TestSharedFoldersWait(t *testing.T) {
	w := newWorld(t)
	e := w.longOver("determined", "shared_fs", "lost")
	own := w.longOver("determined", "s3", "lost")
	both, one := fmt.Sprintf("%d unclean, %d unclean", e, own), fmt.Sprintf("%d unclean", own)
	running := w.Experiment(rowtest.LossSearcher)
	id := w.Attempt(w.Trial(running, 0, 1), 1, 1)
	outside := w.Experiment(rowtest.LossSearcher)
	w.Exec(`UPDATE experiments SET unmanaged = true WHERE id = $1`, outside)
	for name, c := range map[string]struct{ sql, want string }{
		"an attempt of its time":   {`UPDATE allocations SET state = 'RUNNING', assigned_at = now() - interval '49 hours' WHERE id = $1`, one},
		"one that began later":     {`UPDATE allocations SET state = 'RUNNING', assigned_at = now() - interval '47 hours' WHERE id = $1`, both},
		"one that waits":           {`UPDATE allocations SET state = 'PENDING', queued_at = now() - interval '9 days' WHERE id = $1`, both},
		"one that is over":         {`UPDATE allocations SET state = 'TERMINATED', outcome = 'completed', ended_at = now(), assigned_at = now() - interval '9 days' WHERE id = $1`, both},
		"an unmanaged trial of it": {`INSERT INTO trials (experiment_id, number, task_id, hparams, seed, started_at) SELECT ` + fmt.Sprint(outside) + `, 0, task_id, '{}', 1, now() - interval '9 days' FROM allocations WHERE id = $1`, one},
	} {
		w.Exec(`UPDATE allocations SET state = 'PENDING', ended_at = NULL, outcome = NULL, assigned_at = NULL WHERE id = $1`, id)
		if strings.HasPrefix(c.sql, "INSERT") {
			w.Exec(`DELETE FROM trials WHERE experiment_id = $1`, running)
		}
		w.Exec(c.sql, id)
		if got := w.unswept(100); got != c.want {
			t.Errorf("%s: due are %q, want %q", name, got, c.want)
		}
		if strings.HasPrefix(c.sql, "INSERT") {
			w.Exec(`UPDATE trials SET experiment_id = $1 WHERE experiment_id = $2`, running, outside)
		}
	}
}

// TestStrays: a sweep may remove what no row of the cluster names, and nothing while its experiment may run again.
func TestStrays(t *testing.T) {
	w := newWorld(t)
	e := w.longOver("determined", "s3", "lost")
	_, trial := w.ended()
	here, other, deleted := w.keptIn(w.Int(`SELECT id FROM trials WHERE experiment_id = $1`, e), 1), w.keptIn(trial, 2), w.keptIn(trial, 3)
	w.Exec(`UPDATE checkpoints SET state = 'DELETED', resources = '{}' WHERE uuid = $1`, deleted)
	const free, ofTrial, ofExperiment = "bbbbbbbb-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002", "bbbbbbbb-0000-4000-8000-000000000003"
	w.Exec(`UPDATE trials SET warm_start = $2 WHERE id = $1`, trial, ofTrial)
	w.Exec(`UPDATE experiments SET warm_start = $2 WHERE id = $1`, e, ofExperiment)
	cluster := w.Text(`SELECT id::text FROM cluster`)
	id, err := w.sweep(e, true)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(task string) ([]string, error) {
		return checkpoints.Strays(t.Context(), w.DB, task, []string{here, other, deleted, free, ofTrial, ofExperiment, cluster, free})
	}
	if got, err := ask(id); err != nil || len(got) != 1 || got[0] != free {
		t.Errorf("may go: %v, %v", got, err)
	}
	left, err := checkpoints.Remaining(t.Context(), w.DB, id)
	if err != nil || left.Sweep == nil || !left.Sweep.Since.Before(left.Sweep.Until) || left.Events {
		t.Errorf("%+v %v", left, err)
	}
	w.Exec(`UPDATE experiments SET continues = continued + 1 WHERE id = $1`, e)
	if _, err := ask(id); !fault.Is(err, fault.Conflict) {
		t.Errorf("an experiment that goes on: %v", err)
	}
	w.Exec(`UPDATE experiments SET continues = continued WHERE id = $1`, e)
	k, err := w.collect(e, checkpoints.ByRequest, here)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(k); !fault.Is(err, fault.Invalid) {
		t.Errorf("a task that is no sweep: %v", err)
	}
	for range 2 { // the second report is a repetition
		if err := checkpoints.RecordRemoval(t.Context(), w.DB, id, checkpoints.RemovalReport{Files: 3, Bytes: 15}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := checkpoints.GCs(t.Context(), w.DB, e)
	if err != nil || len(list) != 2 || list[1].Reason != checkpoints.BySweep || list[1].Files != 3 || list[1].Bytes != 15 {
		t.Errorf("%+v %v", list, err)
	}
	if left, err := checkpoints.Remaining(t.Context(), w.DB, id); err != nil || left.Sweep != nil {
		t.Errorf("a sweep that is done: %+v %v", left, err)
	}
}

// TestSweepsEnd: sweeps are counted while they run and for an hour, and those that do not end are killed.
func TestSweepsEnd(t *testing.T) {
	w := newWorld(t)
	e := w.longOver("determined", "s3", "lost")
	id, err := w.sweep(e, true)
	if err != nil {
		t.Fatal(err)
	}
	count := func(what string, want int) {
		t.Helper()
		if n, err := checkpoints.RecentSweeps(t.Context(), w.DB); err != nil || n != want {
			t.Errorf("%s: %d sweeps, want %d; %v", what, n, want, err)
		}
	}
	count("it runs", 1)
	w.Exec(`UPDATE tasks SET ended_at = now() WHERE id = $1`, id)
	count("it has just ended", 1)
	w.Exec(`UPDATE tasks SET created_at = now() - interval '2 hours' WHERE id = $1`, id)
	count("it is over", 0)
	w.Exec(`UPDATE tasks SET ended_at = NULL, created_at = now() - interval '25 hours' WHERE id = $1`, id)
	count("it takes long", 1)
	if err := checkpoints.EndOldSweeps(t.Context(), w.DB); err != nil || w.Text(`SELECT desired FROM tasks WHERE id = $1`, id) != "kill" {
		t.Errorf("%v", err)
	}
	count("it is killed", 0)
	for _, state := range []string{"ACTIVE", "DELETING"} {
		w.Exec(`UPDATE experiments SET state = $2, ended_at = NULL WHERE id = $1`, e, state)
		if _, err := w.sweep(e, false); !errors.Is(err, database.ErrStale) {
			t.Errorf("an experiment that is %s now: %v", state, err)
		}
	}
}
