package store

import (
	"encoding/json"
	"testing"
)

// TestPoolJobs tests that the last parsed job of a source is stored, and that unused ones are
// deleted.
func TestPoolJobs(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	if raw, err := w.db.PoolJob(ctx, "a"); raw != nil || err != nil {
		t.Errorf("before anything is kept: %s, %v", raw, err)
	}
	for _, text := range []string{`{"ID": "first"}`, `{"ID": "second"}`} {
		if err := w.db.SavePoolJob(ctx, "a", json.RawMessage(text)); err != nil {
			t.Fatal(err)
		}
	}
	var job struct{ ID string }
	raw, err := w.db.PoolJob(ctx, "a")
	if err != nil || json.Unmarshal(raw, &job) != nil || job.ID != "second" {
		t.Errorf("%s, %v", raw, err)
	}
	w.exec(`UPDATE pool_jobs SET used_at = now() - interval '200 days'`)
	if err := w.db.SavePoolJob(ctx, "b", json.RawMessage(`{}`)); err != nil {
		t.Fatal(err)
	}
	if raw, err := w.db.PoolJob(ctx, "a"); raw != nil || err != nil {
		t.Errorf("a job that was not used for half a year is still stored: %s, %v", raw, err)
	}
}
