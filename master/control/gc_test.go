package control

import (
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/experiments"
)

// keeping is a configuration with checkpoints in a shared folder, and a policy.
const keeping = "checkpoint_storage: {type: shared_fs, host_path: /data, save_experiment_best: 0, save_trial_best: 1, save_trial_latest: 1}\n"

func uuidOf(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// checkpoint adds a checkpoint with a validation to an experiment's first trial.
func (b *bench) checkpoint(experiment, n, steps int, loss float64) {
	b.t.Helper()
	b.exec(`INSERT INTO checkpoints (uuid, task_id, trial_id, run_id, steps, state, resources, size)
		SELECT $2, t.task_id, t.id, 1, $3, 'COMPLETED', '{"model.bin": 10}', 10 FROM trials t WHERE t.experiment_id = $1 ORDER BY t.id LIMIT 1`, experiment, uuidOf(n), steps)
	b.exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, reported_at, avg)
		SELECT t.id, 1, 'validation', $2::int, $2::int, now(), jsonb_build_object('loss', $3::float8) FROM trials t WHERE t.experiment_id = $1 ORDER BY t.id LIMIT 1`, experiment, steps, loss)
}

// trained creates an experiment that has ended, with checkpoints 1 to 4 with losses 3, 1, 2 and 4.
func (b *bench) trained() int {
	b.t.Helper()
	e := b.experiment(keeping)
	b.settle()
	for i, loss := range []float64{3, 1, 2, 4} {
		b.checkpoint(e, i+1, 10*(i+1), loss)
	}
	b.claim(b.newest(e))
	b.settle()
	b.exit(b.newest(e), 0)
	b.settle()
	b.settle()
	return e
}

// gcTask describes the newest GC task of an experiment, as "reason: checkpoints (events)".
func (b *bench) gcTask(e int) (task, what string) {
	b.t.Helper()
	what = b.text(`SELECT coalesce((SELECT c.task_id || ' ' || c.reason || coalesce((SELECT string_agg(' ' || right(r.checkpoint::text, 1), '' ORDER BY r.checkpoint)
			FROM removals r WHERE r.task_id = c.task_id), '') || CASE WHEN c.events THEN ' events' ELSE '' END
		FROM collections c JOIN tasks k ON k.id = c.task_id WHERE c.experiment_id = $1 ORDER BY k.created_at DESC LIMIT 1), '- nothing')`, e)
	task, what, _ = strings.Cut(what, " ")
	return task, what
}

// collects lets the attempt of a GC task report that all files were removed, or none, and end.
func (b *bench) collects(task string, run int, problem string) {
	b.t.Helper()
	attempt := fmt.Sprintf("%s.%d", task, run)
	b.exec(`UPDATE allocations SET not_before = NULL WHERE id = $1`, attempt)
	b.settle()
	b.claim(attempt)
	b.settle()
	left, err := checkpoints.Remaining(b.t.Context(), b.db, task)
	if err != nil {
		b.t.Fatal(err)
	}
	reports := []checkpoints.RemovalReport{}
	for _, r := range left.Checkpoints {
		reports = append(reports, checkpoints.RemovalReport{UUID: r.UUID, Files: 1, Bytes: 10, Left: map[string]int64{}})
	}
	if left.Events {
		reports = append(reports, checkpoints.RemovalReport{Files: 2, Bytes: 7})
	}
	code := 0
	for _, f := range reports {
		if problem != "" {
			f, code = checkpoints.RemovalReport{UUID: f.UUID, Error: problem}, 1
		}
		if err := checkpoints.RecordRemoval(b.t.Context(), b.db, task, f); err != nil {
			b.t.Fatal(err)
		}
	}
	b.exit(attempt, code)
	b.settle()
	b.settle()
}

func (b *bench) says(what, got, want string) {
	b.t.Helper()
	if got != want {
		b.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

const states = `SELECT string_agg(right(uuid::text, 1) || ' ' || state, ', ' ORDER BY uuid) FROM checkpoints`

func TestPolicyAtTheEnd(t *testing.T) {
	b := newBench(t, "n1")
	e := b.trained()
	b.want(e, "COMPLETED", "COMPLETED", "TERMINATED completed")
	task, what := b.gcTask(e)
	b.says("to go", what, "policy 1 3")
	b.collects(task, 1, "")
	b.says("there", b.text(states), "1 DELETED, 2 COMPLETED, 3 DELETED, 4 COMPLETED")
	b.says("the task", b.text(`SELECT exit_status FROM tasks WHERE id = $1`, task), "success")
	b.says("the record", b.text(`SELECT sum(files) || ' files, ' || sum(bytes) || ' bytes' FROM removals`), "2 files, 20 bytes")
	b.settle()
	if n := b.int(`SELECT count(*) FROM collections`); n != 1 {
		t.Errorf("%d GC tasks, want one", n)
	}
}

func TestPolicyThatChanges(t *testing.T) {
	b := newBench(t, "n1")
	e := b.trained()
	task, _ := b.gcTask(e)
	b.collects(task, 1, "")
	err := experiments.Change(t.Context(), b.db, e, experiments.Patch{Storage: map[string]int{"save_trial_best": 0}})
	if err != nil {
		t.Fatal(err)
	}
	b.settle()
	task, what := b.gcTask(e)
	b.says("to go", what, "policy 2")
	if err := experiments.Change(t.Context(), b.db, e, experiments.Patch{Storage: map[string]int{"save_trial_latest": 0}}); err != nil {
		t.Fatal(err)
	}
	b.settle()
	_, what = b.gcTask(e)
	b.says("one follows the other", what, "policy 2")
	b.collects(task, 1, "")
	_, what = b.gcTask(e)
	b.says("what has gone goes once", what, "policy 4")
}

// TestPolicyOfALiveExperiment tests that the checkpoint from which a trial would continue stays.
func TestPolicyOfALiveExperiment(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment(keeping)
	b.settle()
	for i, loss := range []float64{3, 1, 2} {
		b.checkpoint(e, i+1, 10*(i+1), loss)
	}
	b.settle()
	_, what := b.gcTask(e)
	b.says("nobody asked", what, "nothing")
	if err := experiments.Change(t.Context(), b.db, e, experiments.Patch{Storage: map[string]int{"save_trial_best": 0, "save_trial_latest": 0}}); err != nil {
		t.Fatal(err)
	}
	b.settle()
	_, what = b.gcTask(e)
	b.says("to go", what, "policy 1 2")
	b.says("the last is looked at again", b.text(`SELECT (gc_retry_at > now())::text FROM experiments`), "true")
}

// TestWhatOthersStartFromStays tests that a checkpoint from which another experiment starts
// stays until that experiment has ended.
func TestWhatOthersStartFromStays(t *testing.T) {
	b := newBench(t, "n1")
	e := b.trained()
	task, _ := b.gcTask(e)
	b.collects(task, 1, "")
	fork := b.experiment(keeping)
	b.exec(`UPDATE experiments SET warm_start = $2 WHERE id = $1`, fork, uuidOf(2))
	if err := experiments.Change(t.Context(), b.db, e, experiments.Patch{Storage: map[string]int{"save_trial_best": 0, "save_trial_latest": 0}}); err != nil {
		t.Fatal(err)
	}
	b.settle()
	_, what := b.gcTask(e)
	b.says("to go", what, "policy 4")
	b.exec(`UPDATE experiments SET desired = 'deleted', delete_requests = 1 WHERE id = $1`, e)
	for range 3 {
		b.settle()
	}
	b.says("while its files are removed", b.text(`SELECT state FROM experiments WHERE id = $1`, e), "DELETING")
	task, _ = b.gcTask(e)
	b.collects(task, 1, "")
	b.says("needed", b.text(`SELECT state || ': ' || error FROM experiments WHERE id = $1`, e),
		fmt.Sprintf("DELETE_FAILED: its checkpoint %s is still needed: experiment %d, which is not over, starts from it", uuidOf(2), fork))
	b.exec(`UPDATE experiments SET desired = 'killed' WHERE id = $1`, fork)
	b.settle()
	b.exit(b.newest(fork), 143)
	b.settle()
	had, err := experiments.RequestAction(t.Context(), b.db, []int{e}, experiments.Delete)
	if err != nil || len(had) != 1 {
		t.Fatal(had, err)
	}
	b.settle()
	b.settle()
	_, what = b.gcTask(e)
	b.says("to go now", what, "deletion 2 events")
}

// TestVersionsOfModelsStay tests that no policy removes a checkpoint that is a version of a model,
// that the experiment's rows stay with it, and that both go once the version is deleted.
func TestVersionsOfModelsStay(t *testing.T) {
	b := newBench(t, "n1")
	e := b.experiment(keeping)
	b.settle()
	for i, loss := range []float64{3, 1, 2, 4} {
		b.checkpoint(e, i+1, 10*(i+1), loss)
	}
	b.exec(`INSERT INTO models (name, workspace_id, owner_id, newest) VALUES ('m', 1, 1, 1)`)
	b.exec(`INSERT INTO model_versions (model_id, version, checkpoint, owner_id) SELECT id, 1, $1, 1 FROM models`, uuidOf(1))
	b.claim(b.newest(e))
	b.settle()
	b.exit(b.newest(e), 0)
	b.settle()
	b.settle()
	task, what := b.gcTask(e)
	b.says("to go", what, "policy 3")
	b.collects(task, 1, "")
	b.says("nobody looks again", b.text(`SELECT (gc_retry_at IS NULL)::text FROM experiments WHERE id = $1`, e), "true")
	// The API refuses the deletion of the experiment, but not that of its project.
	for _, storage := range []string{"{}", `{"type": "shared_fs", "host_path": "/elsewhere"}`} {
		b.exec(`WITH s AS (INSERT INTO storage_backends (config, owner_id) VALUES ($2::jsonb, 1) RETURNING id) UPDATE checkpoints SET storage_id = s.id FROM s WHERE uuid = $1`, uuidOf(1), storage)
		b.exec(`UPDATE experiments SET desired = 'deleted', delete_requests = delete_requests + 1 WHERE id = $1`, e)
		for range 3 {
			b.settle()
		}
		b.says("needed", b.text(`SELECT state || ': ' || error FROM experiments WHERE id = $1`, e),
			fmt.Sprintf("DELETE_FAILED: its checkpoint %s is still needed: it is version 1 of model 1 in the model registry", uuidOf(1)))
	}
	b.exec(`UPDATE checkpoints SET storage_id = NULL`)
	b.exec(`DELETE FROM models`)
	if _, err := experiments.RequestAction(t.Context(), b.db, []int{e}, experiments.Delete); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		b.settle()
	}
	task, what = b.gcTask(e)
	b.says("to go now", what, "deletion 1 2 4 events")
	b.collects(task, 1, "")
	if n := b.int(`SELECT count(*) FROM experiments`); n != 0 {
		t.Error("the experiment still exists")
	}
}

// TestMoreThanOneTaskRemoves tests the deletion of an experiment with more checkpoints than one
// GC task may remove.
func TestMoreThanOneTaskRemoves(t *testing.T) {
	b := newBench(t, "n1")
	e := b.trained()
	task, _ := b.gcTask(e)
	b.collects(task, 1, "")
	const many = checkpoints.MaxRemovals + 3 - 2 // two exist already
	b.exec(`INSERT INTO checkpoints (uuid, task_id, trial_id, run_id, steps, state, resources, size)
		SELECT gen_random_uuid(), t.task_id, t.id, 1, 100 + s, 'COMPLETED', '{}', 0 FROM trials t, generate_series(1, $2) s WHERE t.experiment_id = $1`, e, many)
	b.exec(`UPDATE experiments SET desired = 'deleted', delete_requests = 1 WHERE id = $1`, e)
	for _, want := range []string{"5000 false", "3 true"} {
		b.settle()
		b.settle()
		task, _ = b.gcTask(e)
		b.says("to go", b.text(`SELECT (SELECT count(*) FROM removals WHERE task_id = $1) || ' ' || events::text FROM collections WHERE task_id = $1`, task), want)
		b.says("meanwhile", b.text(`SELECT state FROM experiments`), "DELETING")
		b.exec(`UPDATE allocations SET not_before = NULL`)
		b.claim(task + ".1")
		b.settle()
		b.exec(`UPDATE removals SET at = now() WHERE task_id = $1`, task)
		b.exec(`UPDATE checkpoints SET state = 'DELETED' WHERE uuid IN (SELECT checkpoint FROM removals WHERE task_id = $1)`, task)
		b.exec(`UPDATE collections SET events_at = now() WHERE task_id = $1 AND events`, task)
		b.exit(task+".1", 0)
	}
	b.settle()
	b.settle()
	if n := b.int(`SELECT count(*) FROM experiments`); n != 0 {
		t.Error("the experiment still exists")
	}
}

func TestDeletionThatFailsAndIsAskedAgain(t *testing.T) {
	b := newBench(t, "n1")
	e := b.trained()
	task, _ := b.gcTask(e)
	b.collects(task, 1, "")
	ask := func(want int) {
		t.Helper()
		had, err := experiments.RequestAction(t.Context(), b.db, []int{e}, experiments.Delete)
		if err != nil || len(had) != want {
			t.Fatal(had, err)
		}
		for range 3 {
			b.settle()
		}
	}
	ask(1)
	task, what := b.gcTask(e)
	b.says("to go", what, "deletion 2 4 events")
	for run := 1; run <= maxGCTries; run++ {
		b.says("meanwhile", b.text(`SELECT state FROM experiments`), "DELETING")
		b.collects(task, run, "access denied")
	}
	b.says("after its last try", b.text(`SELECT state || ': ' || error FROM experiments`), "DELETE_FAILED: access denied")
	b.settle()
	ask(1)
	again, what := b.gcTask(e)
	if again == task {
		t.Fatal("nothing was tried again")
	}
	b.says("to go once more", what, "deletion 2 4 events")
	ask(0)
	b.collects(again, 1, "")
	b.settle()
	if n := b.int(`SELECT (SELECT count(*) FROM experiments) + (SELECT count(*) FROM tasks) + (SELECT count(*) FROM allocations) + (SELECT count(*) FROM checkpoints)`); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}
