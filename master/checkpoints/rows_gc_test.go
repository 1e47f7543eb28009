package checkpoints_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// keptIn adds a checkpoint in a storage to a trial, and returns its id.
func (w *world) keptIn(trial, n int) string {
	w.T.Helper()
	id := fmt.Sprintf("aaaaaaaa-0000-4000-8000-%012d", n)
	w.Exec(`INSERT INTO checkpoints (uuid, task_id, trial_id, run_id, steps, state, resources, size)
		SELECT $1, task_id, id, 1, $3, 'COMPLETED', '{"a": 5, "sub/": 0}', 5 FROM trials WHERE id = $2`, id, trial, n)
	return id
}

// ended creates an experiment that has ended, with one trial.
func (w *world) ended() (experiment, trial int) {
	w.T.Helper()
	experiment = w.Experiment(rowtest.LossSearcher)
	trial = w.Trial(experiment, 0, 1)
	w.Exec(`UPDATE trials SET state = 'COMPLETED', ended_at = now() WHERE id = $1`, trial)
	w.Exec(`UPDATE experiments SET state = 'COMPLETED', ended_at = now() WHERE id = $1`, experiment)
	return experiment, trial
}

// collect creates a garbage collection that removes all files of one checkpoint.
func (w *world) collect(experiment int, reason string, checkpoint string, change ...func(*checkpoints.NewGC)) (string, error) {
	c := checkpoints.NewGC{TaskID: checkpoints.GCTaskID(experiment), ExperimentID: experiment, Reason: reason, Pool: "default", Priority: 42, Saw: "COMPLETED",
		Removals: []checkpoints.Removal{{UUID: checkpoint, Globs: []string{checkpoints.AllFiles}}}}
	for _, f := range change {
		f(&c)
	}
	err := w.DB.Tx(context.Background(), func(tx *database.DB) error {
		made, err := checkpoints.CreateGC(context.Background(), tx, c)
		if err == nil && !made {
			err = errors.New("nothing was made")
		}
		return err
	})
	return c.TaskID, err
}

// TestCollectionsAreNotOfAnotherState tests that CreateGC rejects a decision about an experiment
// that has changed since.
func TestCollectionsAreNotOfAnotherState(t *testing.T) {
	w := newWorld(t)
	e, trial := w.ended()
	k := w.keptIn(trial, 1)
	for name, change := range map[string]func(*checkpoints.NewGC){
		"another state": func(c *checkpoints.NewGC) { c.Saw = "ACTIVE" }, "another request": func(c *checkpoints.NewGC) { c.Request = 5 }} {
		for _, reason := range []string{checkpoints.ByPolicy, checkpoints.ByDeletion} {
			if _, err := w.collect(e, reason, k, change); !errors.Is(err, database.ErrStale) {
				t.Errorf("%s, %s: %v", reason, name, err)
			}
		}
	}
	w.Exec(`UPDATE experiments SET continues = continued + 1 WHERE id = $1`, e)
	if _, err := w.collect(e, checkpoints.ByPolicy, k); !errors.Is(err, database.ErrStale) {
		t.Errorf("an experiment that is to go on: %v", err)
	}
	w.Exec(`UPDATE experiments SET continues = continued WHERE id = $1`, e)
	if n := w.Int(`SELECT count(*) FROM collections`); n != 0 {
		t.Errorf("%d collections", n)
	}
	if _, err := w.collect(e, checkpoints.ByPolicy, k); err != nil {
		t.Error(err)
	}
}

// TestWhoStartsFromACheckpoint tests that a checkpoint stays while an experiment that starts
// from it has not ended.
func TestWhoStartsFromACheckpoint(t *testing.T) {
	w := newWorld(t)
	e, trial := w.ended()
	k := w.keptIn(trial, 1)
	fork := w.Experiment(rowtest.LossSearcher)
	w.Exec(`UPDATE experiments SET warm_start = $2, state = 'PAUSED' WHERE id = $1`, fork, k)
	if _, err := w.collect(e, checkpoints.ByRequest, k); !fault.Is(err, fault.Conflict) {
		t.Errorf("an experiment that waits: %v", err)
	}
	if _, err := w.collect(e, checkpoints.ByPolicy, k); err == nil || err.Error() != "nothing was made" {
		t.Errorf("by the policy: %v", err)
	}
	w.Exec(`UPDATE experiments SET warm_start = NULL WHERE id = $1`, fork)
	second := w.Trial(fork, 0, 1)
	w.Exec(`UPDATE trials SET warm_start = $2 WHERE id = $1`, second, k)
	if _, err := w.collect(e, checkpoints.ByRequest, k); !fault.Is(err, fault.Conflict) {
		t.Errorf("a trial that is not over: %v", err)
	}
	w.Exec(`UPDATE trials SET ended_at = now(), state = 'COMPLETED' WHERE id = $1`, second)
	w.Exec(`UPDATE experiments SET state = 'COMPLETED', ended_at = now(), warm_start = $2 WHERE id = $1`, fork, k)
	if _, err := w.collect(e, checkpoints.ByRequest, k); err != nil {
		t.Errorf("when all are over: %v", err)
	}
}

// TestNobodyStartsFromWhatGoes tests that an experiment never starts from a checkpoint whose
// removal has begun, whichever of the two requests is first.
func TestNobodyStartsFromWhatGoes(t *testing.T) {
	w := newWorld(t)
	e, trial := w.ended()
	removed, started := 0, 0
	for n := range 24 {
		k := w.keptIn(trial, n)
		var gone, made error
		var both sync.WaitGroup
		both.Go(func() { _, gone = w.collect(e, checkpoints.ByRequest, k) })
		both.Go(func() {
			_, made = experiments.Create(context.Background(), w.DB, nil, experiments.New{OwnerID: 2, ProjectID: 1, Config: []byte(`{"searcher": {}}`), Active: true,
				Name: "fork", Pool: "default", Weight: 1, Priority: 42, WarmStart: &k})
		})
		both.Wait()
		switch {
		case gone == nil && made == nil:
			t.Fatalf("checkpoint %d goes, and an experiment starts from it", n)
		case gone == nil && fault.Is(made, fault.Conflict):
			removed++
		case made == nil && fault.Is(gone, fault.Conflict):
			started++
		default:
			t.Fatalf("checkpoint %d: %v, %v", n, gone, made)
		}
	}
	t.Logf("%d went, from %d somebody started", removed, started)
}

// TestWhatGoesIsNotRestartedFrom tests that a trial does not restart from a checkpoint whose
// removal runs, and that after a failed removal the remaining files decide.
func TestWhatGoesIsNotRestartedFrom(t *testing.T) {
	w := newWorld(t)
	e := w.Experiment(rowtest.LossSearcher)
	trial := w.Trial(e, 0, 1)
	first, second := w.keptIn(trial, 1), w.keptIn(trial, 2)
	from := func(want string) {
		t.Helper()
		id := w.Attempt(trial, w.Int(`SELECT run_id + 1 FROM trials WHERE id = $1`, trial), 1)
		got, err := (attempts.Gate{DB: w.DB}).Claim(t.Context(), rowtest.Claim(id, 0, "nonce"))
		if err != nil || got.Checkpoint == nil || *got.Checkpoint != want {
			t.Errorf("the trial continues from %v, want %s; %v", got.Checkpoint, want, err)
		}
	}
	from(second)
	task, err := w.collect(e, checkpoints.ByRequest, second, func(c *checkpoints.NewGC) { c.Live = true })
	if err != nil {
		t.Fatal(err)
	}
	from(first)
	w.Exec(`UPDATE tasks SET ended_at = now(), exit_status = 'failed' WHERE id = $1`, task)
	from(second)
}

// TestWhatIsReportedCountsOnce tests that a repeated report of a removal changes nothing.
func TestWhatIsReportedCountsOnce(t *testing.T) {
	w := newWorld(t)
	e, trial := w.ended()
	k := w.keptIn(trial, 1)
	task, err := w.collect(e, checkpoints.ByRequest, k, func(c *checkpoints.NewGC) { c.Events = true })
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []checkpoints.RemovalReport{{UUID: k, Files: 1, Bytes: 3, Error: "denied", Left: map[string]int64{"b": 2}}, {UUID: k, Files: 1, Bytes: 2, Left: map[string]int64{}},
		{UUID: k, Files: 9, Bytes: 9, Left: map[string]int64{"late": 1}}, {Files: 2, Bytes: 7}, {Files: 2, Bytes: 7}} {
		if err := checkpoints.RecordRemoval(t.Context(), w.DB, task, f); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.Text(`SELECT state || ' ' || size || ' ' || resources::text FROM checkpoints`); got != `DELETED 0 {"b": 2}` {
		t.Errorf("the checkpoint is %s", got)
	}
	list, err := checkpoints.GCs(t.Context(), w.DB, e)
	if err != nil || len(list) != 1 || list[0].Files != 4 || list[0].Bytes != 12 || list[0].Done != 1 || list[0].Error != "" {
		t.Errorf("%+v %v", list, err)
	}
	left, err := checkpoints.Remaining(t.Context(), w.DB, task)
	if err != nil || len(left.Checkpoints) != 0 || left.Events {
		t.Errorf("left to do: %+v %v", left, err)
	}
}

// TestRemovalsOfAnOwner: what one user asks for is limited, until tasks have ended.
func TestRemovalsOfAnOwner(t *testing.T) {
	w := newWorld(t)
	experiment := w.Experiment(rowtest.LossSearcher)
	owner := w.Int(`SELECT owner_id FROM experiments WHERE id = $1`, experiment)
	w.Exec(`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, experiment_id, name, pool, slots, priority)
		SELECT 'gc' || n, 'CHECKPOINT_GC', gen_random_uuid(), $1, 1, $2, '', 'default', 0, 1 FROM generate_series(1, $3) n`, owner, experiment, checkpoints.MaxLiveRemovals)
	gc := checkpoints.NewGC{TaskID: checkpoints.GCTaskID(experiment), ExperimentID: experiment, Reason: checkpoints.ByRequest, Events: true, Pool: "default", Priority: 42, Live: true}
	if _, err := checkpoints.CreateGC(t.Context(), w.DB, gc); !fault.Is(err, fault.TooMany) {
		t.Errorf("one removal too many of an owner: %v", err)
	}
	w.Exec(`UPDATE tasks SET ended_at = now() WHERE id = 'gc1'`)
	if made, err := checkpoints.CreateGC(t.Context(), w.DB, gc); err != nil || !made {
		t.Error(fmt.Sprint("a removal after another has ended: ", made, err))
	}
}
