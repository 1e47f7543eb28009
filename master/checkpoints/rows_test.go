package checkpoints_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/diskuse"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

func TestCheckpoints(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	exp := w.Experiment(rowtest.LossSearcher)
	trial := w.Trial(exp, 0, 0)
	id, task := w.Attempt(trial, 2, 1), w.TaskOf(trial)
	storage, err := checkpoints.StorageID(ctx, w.DB, trial, 1, []byte(`{"type": "shared_fs", "host_path": "/x"}`))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := checkpoints.StorageID(ctx, w.DB, trial, 1, []byte(`{"host_path":"/x","type":"shared_fs"}`)); err != nil || again != storage {
		t.Errorf("the same storage: %d, then %d: %v", storage, again, err)
	}
	for i := range checkpoints.MaxNewStorages {
		_, err := checkpoints.StorageID(ctx, w.DB, trial, 1, fmt.Appendf(nil, `{"type": "shared_fs", "host_path": "/more/%d"}`, i))
		if last := i == checkpoints.MaxNewStorages-1; last != fault.Is(err, fault.Conflict) || !last && err != nil {
			t.Errorf("new storage %d of a trial: %v", i+2, err)
		}
	}
	if again, err := checkpoints.StorageID(ctx, w.DB, trial, 1, []byte(`{"host_path":"/x","type":"shared_fs"}`)); err != nil || again != storage {
		t.Errorf("a known storage beyond the limit: %d: %v", again, err)
	}
	if _, err := checkpoints.StorageID(ctx, w.DB, trial, 1, fmt.Appendf(nil, `{"type": "shared_fs", "host_path": %q}`, strings.Repeat("x", checkpoints.MaxStorageBytes))); !fault.Is(err, fault.Invalid) {
		t.Errorf("a large storage: %v", err)
	}
	if s, err := diskuse.Of(ctx, w.DB, 1); err != nil || s.Records < checkpoints.MaxNewStorages*200 {
		t.Errorf("the owner stores %+v, %v", s, err)
	}
	if c, err := database.Scalar[string](ctx, w.DB, `SELECT config::text FROM storage_backends WHERE id = $1`, storage); err != nil || c != `{"type": "shared_fs", "host_path": "/x"}` {
		t.Errorf("%s %v", c, err)
	}
	w.Exec(`INSERT INTO metrics (trial_id, run_id, group_name, steps, position, reported_at, avg) VALUES ($1, 2, 'validation', 10, 10, now(), '{"loss": 0.5}'),
		($1, 2, 'training', 10, 10, now(), '{"loss": 0.75}')`, trial)
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := checkpoints.New{UUID: "11111111-1111-4111-8111-111111111111", TaskID: task, AllocationID: id, RunID: 2, State: "COMPLETED", ReportedAt: &at,
		Resources: map[string]int64{"a": 3, "d/": 0, "d/b": 4}, Metadata: []byte(`{"steps_completed": 10, "k": "v"}`), Steps: 10, StorageID: &storage}
	for range 2 {
		if err := checkpoints.Add(ctx, w.DB, c); err != nil {
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
		c    checkpoints.New
		code fault.Code
	}{"other contents": {changed, fault.Conflict}, "an older run": {old, fault.Conflict}, "no uuid": {broken, fault.Invalid}} {
		if err := checkpoints.Add(ctx, w.DB, x.c); !fault.Is(err, x.code) {
			t.Errorf("%s: %v", what, err)
		}
	}
	k, err := checkpoints.Get(ctx, w.DB, c.UUID)
	if err != nil {
		t.Fatal(err)
	}
	if k.Size != 7 || k.Steps != 10 || *k.TrialID != trial || *k.ExperimentID != exp || k.SearcherMetric == nil || *k.SearcherMetric != 0.5 ||
		string(k.Training) != `{"loss": 0.75}` || string(k.Storage) != `{"type": "shared_fs", "host_path": "/x"}` || !k.ReportedAt.Equal(at) {
		t.Errorf("%+v", k)
	}
	if err := checkpoints.SetMetadata(ctx, w.DB, c.UUID, json.RawMessage(`{"note": "n"}`)); err != nil {
		t.Error(err)
	}
	files := map[string]int64{"metadata.json": 5}
	maps.Copy(files, c.Resources)
	if err := checkpoints.SetFiles(ctx, w.DB, []checkpoints.Files{{c.UUID, files}}); err != nil {
		t.Error(err)
	}
	if k, err := checkpoints.Get(ctx, w.DB, c.UUID); err != nil || k.State != "COMPLETED" || k.Size != 12 || len(k.Resources) != len(files) {
		t.Errorf("with metadata.json: %+v %v", k, err)
	}
	if err := checkpoints.SetFiles(ctx, w.DB, []checkpoints.Files{{c.UUID, map[string]int64{"a": 3}}}); err != nil {
		t.Error(err)
	}
	list, err := checkpoints.List(ctx, w.DB, auth.Everywhere(), checkpoints.Filter{ExperimentID: exp}, 0, 10, 0)
	if err != nil || len(list) != 1 || list[0].State != "PARTIALLY_DELETED" || list[0].Size != 3 || string(list[0].Metadata) != `{"note": "n"}` {
		t.Errorf("%+v %v", list, err)
	}
	totals, err := checkpoints.Totals(ctx, w.DB, []int{trial})
	if err != nil || totals[trial] != (checkpoints.Total{trial, 1, 3}) {
		t.Errorf("%+v %v", totals, err)
	}
	if err := checkpoints.SetFiles(ctx, w.DB, []checkpoints.Files{{c.UUID, nil}}); err != nil {
		t.Error(err)
	}
	if list, err := checkpoints.List(ctx, w.DB, auth.Everywhere(), checkpoints.Filter{ExperimentID: exp, TrialID: trial}, 0, 10, 0); err != nil || list[0].State != "DELETED" ||
		list[0].Size != 0 || !maps.Equal(list[0].Resources, map[string]int64{"a": 3}) {
		t.Errorf("%+v %v", list, err)
	}
	if totals, err := checkpoints.Totals(ctx, w.DB, []int{trial}); err != nil || totals[trial].Size != 0 {
		t.Errorf("%+v %v", totals, err)
	}
	missing := "33333333-3333-4333-8333-333333333333"
	for what, err := range map[string]error{
		"files":    checkpoints.SetFiles(ctx, w.DB, []checkpoints.Files{{missing, nil}}),
		"metadata": checkpoints.SetMetadata(ctx, w.DB, missing, []byte(`{}`)),
	} {
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("%s of nothing: %v", what, err)
		}
	}
}

// TestListsOfCheckpointsKeepToTheirScope: a list has what is in the workspaces of its scope.
func TestListsOfCheckpointsKeepToTheirScope(t *testing.T) {
	w := newWorld(t)
	ctx, db := t.Context(), w.DB
	theirs := w.Int(`INSERT INTO workspaces (name, owner_id) VALUES ('theirs', 1) RETURNING id`)
	project := w.Int(`INSERT INTO projects (workspace_id, name, key, owner_id) VALUES ($1, 'p', 'P', 1) RETURNING id`, theirs)
	experiments := map[int]int{} // by workspace
	for i, workspace := range []int{1, theirs} {
		e := w.Experiment(rowtest.LossSearcher)
		experiments[workspace] = e
		trial := w.Trial(e, 0, 1)
		w.keptIn(trial, 1+i)
		if workspace == theirs {
			w.Exec(`UPDATE experiments SET project_id = $2 WHERE id = $1`, e, project)
			w.Exec(`UPDATE tasks SET workspace_id = $2 WHERE experiment_id = $1`, e, theirs)
		}
	}
	for workspace, e := range experiments {
		for of, want := range map[int]int{workspace: 1, 1 + theirs - workspace: 0, 0: 0} {
			in := auth.Scope{}
			if of != 0 {
				in.Workspaces = []int{of}
			}
			list, err := checkpoints.List(ctx, db, in, checkpoints.Filter{ExperimentID: e}, 0, 10, 0)
			n, countErr := checkpoints.CountListed(ctx, db, in, checkpoints.Filter{ExperimentID: e})
			if err != nil || countErr != nil || len(list) != want || n != want {
				t.Errorf("experiment of workspace %d in the scope of %d: %d listed, %d counted, want %d; %v %v", workspace, of, len(list), n, want, err, countErr)
			}
		}
	}
}

// TestManyCheckpoints: the names and the metadata of the checkpoints of a task have a limit together.
func TestManyCheckpoints(t *testing.T) {
	w := newWorld(t)
	task := w.TaskOf(w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1))
	add := func(id string) error {
		return checkpoints.Add(t.Context(), w.DB, checkpoints.New{UUID: id, TaskID: task, State: "COMPLETED", RunID: 1, Metadata: json.RawMessage(`{}`)})
	}
	first := "aaaaaaaa-0000-4000-8000-000000000001"
	if err := add(first); err != nil {
		t.Fatal(err)
	}
	w.Exec(`ALTER TABLE checkpoints ALTER metadata SET STORAGE EXTERNAL`) // without compression
	w.Exec(`INSERT INTO checkpoints (uuid, task_id, state, metadata) SELECT gen_random_uuid(), $1, 'COMPLETED', to_jsonb(repeat('x', 1 << 24)) FROM generate_series(1, 4)`, task)
	if err := add("aaaaaaaa-0000-4000-8000-000000000002"); !fault.Is(err, fault.TooLarge) || !strings.Contains(err.Error(), "64.0 MiB") {
		t.Error(err)
	}
	if err := add(first); err != nil {
		t.Errorf("a repeated report: %v", err)
	}
	if err := checkpoints.SetMetadata(t.Context(), w.DB, first, json.RawMessage(`{"a":"b"}`)); !fault.Is(err, fault.TooLarge) {
		t.Errorf("metadata: %v", err)
	}
}
