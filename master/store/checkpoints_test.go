package store

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

func TestCheckpoints(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	exp := w.experiment(lossSearcher)
	trial := w.trial(exp, 0, 0)
	id, task := w.attempt(trial, 2, 1), w.taskOf(trial)
	storage, err := w.db.StorageID(ctx, trial, 1, raw(`{"type": "shared_fs", "host_path": "/x"}`))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := w.db.StorageID(ctx, trial, 1, raw(`{"host_path":"/x","type":"shared_fs"}`)); err != nil || again != storage {
		t.Errorf("the same storage: %d, then %d: %v", storage, again, err)
	}
	for i := range maxNewStorages {
		_, err := w.db.StorageID(ctx, trial, 1, fmt.Appendf(nil, `{"type": "shared_fs", "host_path": "/more/%d"}`, i))
		if last := i == maxNewStorages-1; last != fault.Is(err, fault.Conflict) || !last && err != nil {
			t.Errorf("new storage %d of a trial: %v", i+2, err)
		}
	}
	if again, err := w.db.StorageID(ctx, trial, 1, raw(`{"host_path":"/x","type":"shared_fs"}`)); err != nil || again != storage {
		t.Errorf("a known storage beyond the limit: %d: %v", again, err)
	}
	if _, err := w.db.StorageID(ctx, trial, 1, fmt.Appendf(nil, `{"type": "shared_fs", "host_path": %q}`, strings.Repeat("x", maxStorageBytes))); !fault.Is(err, fault.Invalid) {
		t.Errorf("a large storage: %v", err)
	}
	if s, err := w.db.StoredBy(ctx, 1); err != nil || s.Records < maxNewStorages*200 {
		t.Errorf("the owner stores %+v, %v", s, err)
	}
	if c, err := database.Scalar[string](ctx, w.db.DB, `SELECT config::text FROM storage_backends WHERE id = $1`, storage); err != nil || c != `{"type": "shared_fs", "host_path": "/x"}` {
		t.Errorf("%s %v", c, err)
	}
	w.exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, reported_at, avg) VALUES ($1, 2, 'validation', 10, 10, now(), '{"loss": 0.5}'),
		($1, 2, 'training', 10, 10, now(), '{"loss": 0.75}')`, trial)
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := NewCheckpoint{UUID: "11111111-1111-4111-8111-111111111111", TaskID: task, AllocationID: id, RunID: 2, State: "COMPLETED", ReportedAt: &at,
		Resources: map[string]int64{"a": 3, "d/": 0, "d/b": 4}, Metadata: raw(`{"steps_completed": 10, "k": "v"}`), Steps: 10, StorageID: &storage}
	for range 2 {
		if err := w.db.AddCheckpoint(ctx, c); err != nil {
			t.Fatal(err)
		}
	}
	changed := c
	changed.Resources = map[string]int64{"a": 4}
	old := c
	old.UUID, old.RunID = "22222222-2222-4222-8222-222222222222", 1
	broken := c
	broken.UUID = "not a uuid"
	for what, x := range map[string]struct {
		c    NewCheckpoint
		code fault.Code
	}{"other contents": {changed, fault.Conflict}, "an older run": {old, fault.Conflict}, "no uuid": {broken, fault.Invalid}} {
		if err := w.db.AddCheckpoint(ctx, x.c); !fault.Is(err, x.code) {
			t.Errorf("%s: %v", what, err)
		}
	}
	k, err := w.db.CheckpointByUUID(ctx, c.UUID)
	if err != nil {
		t.Fatal(err)
	}
	if k.Size != 7 || k.Steps != 10 || *k.TrialID != trial || *k.ExperimentID != exp || k.SearcherMetric == nil || *k.SearcherMetric != 0.5 ||
		string(k.Training) != `{"loss": 0.75}` || string(k.Storage) != `{"type": "shared_fs", "host_path": "/x"}` || !k.ReportedAt.Equal(at) {
		t.Errorf("%+v", k)
	}
	if err := w.db.SetCheckpointMetadata(ctx, c.UUID, json.RawMessage(`{"note": "n"}`)); err != nil {
		t.Error(err)
	}
	files := map[string]int64{"metadata.json": 5}
	maps.Copy(files, c.Resources)
	if err := w.db.SetCheckpointFiles(ctx, []CheckpointFiles{{c.UUID, files}}); err != nil {
		t.Error(err)
	}
	if k, err := w.db.CheckpointByUUID(ctx, c.UUID); err != nil || k.State != "COMPLETED" || k.Size != 12 || len(k.Resources) != len(files) {
		t.Errorf("with metadata.json: %+v %v", k, err)
	}
	if err := w.db.SetCheckpointFiles(ctx, []CheckpointFiles{{c.UUID, map[string]int64{"a": 3}}}); err != nil {
		t.Error(err)
	}
	list, err := w.db.Checkpoints(ctx, auth.Everywhere(), CheckpointFilter{ExperimentID: exp}, 0, 10, 0)
	if err != nil || len(list) != 1 || list[0].State != "PARTIALLY_DELETED" || list[0].Size != 3 || string(list[0].Metadata) != `{"note": "n"}` {
		t.Errorf("%+v %v", list, err)
	}
	totals, err := w.db.CountCheckpoints(ctx, []int{trial})
	if err != nil || totals[trial] != (CheckpointTotals{trial, 1, 3}) {
		t.Errorf("%+v %v", totals, err)
	}
	if err := w.db.SetCheckpointFiles(ctx, []CheckpointFiles{{c.UUID, nil}}); err != nil {
		t.Error(err)
	}
	if list, err := w.db.Checkpoints(ctx, auth.Everywhere(), CheckpointFilter{ExperimentID: exp, TrialID: trial}, 0, 10, 0); err != nil || list[0].State != "DELETED" ||
		list[0].Size != 0 || !maps.Equal(list[0].Resources, map[string]int64{"a": 3}) {
		t.Errorf("%+v %v", list, err)
	}
	if totals, err := w.db.CountCheckpoints(ctx, []int{trial}); err != nil || totals[trial].Size != 0 {
		t.Errorf("%+v %v", totals, err)
	}
	missing := "33333333-3333-4333-8333-333333333333"
	for what, err := range map[string]error{
		"files":    w.db.SetCheckpointFiles(ctx, []CheckpointFiles{{missing, nil}}),
		"metadata": w.db.SetCheckpointMetadata(ctx, missing, raw(`{}`)),
	} {
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("%s of nothing: %v", what, err)
		}
	}
}
