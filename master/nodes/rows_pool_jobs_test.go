package nodes_test

import (
	"encoding/json"
	"testing"

	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// TestPoolJobs tests that the last parsed job of a source is stored, and that unused ones are
// deleted.
func TestPoolJobs(t *testing.T) {
	w := rowtest.New(t)
	ctx, kept := t.Context(), nodes.PoolJobs{DB: w.DB}
	if raw, err := kept.PoolJob(ctx, "a"); raw != nil || err != nil {
		t.Errorf("before anything is kept: %s, %v", raw, err)
	}
	for _, text := range []string{`{"ID": "first"}`, `{"ID": "second"}`} {
		if err := kept.SavePoolJob(ctx, "a", json.RawMessage(text)); err != nil {
			t.Fatal(err)
		}
	}
	var job struct{ ID string }
	raw, err := kept.PoolJob(ctx, "a")
	if err != nil || json.Unmarshal(raw, &job) != nil || job.ID != "second" {
		t.Errorf("%s, %v", raw, err)
	}
	w.Exec(`UPDATE pool_jobs SET used_at = now() - interval '200 days'`)
	if err := kept.SavePoolJob(ctx, "b", json.RawMessage(`{}`)); err != nil {
		t.Fatal(err)
	}
	if raw, err := kept.PoolJob(ctx, "a"); raw != nil || err != nil {
		t.Errorf("a job that was not used for half a year is still stored: %s, %v", raw, err)
	}
}
