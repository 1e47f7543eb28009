package store

import (
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/tasks"
)

// TestOver tests EndedJobs: jobs whose attempts have ended or do not exist.
func TestOver(t *testing.T) {
	w := newWorld(t)
	trial := w.trial(w.experiment(lossSearcher), 0, 1)
	id := w.attempt(trial, 1, 1)
	job := "det-" + strings.ReplaceAll(id, ".", "-")
	over, err := w.db.EndedJobs(t.Context(), []string{job, "det-9-unknown-1"})
	if err != nil || !slices.Equal(over, []string{"det-9-unknown-1"}) {
		t.Fatalf("over are %v, %v", over, err)
	}
	w.exec(`UPDATE allocations SET state = 'TERMINATED', ended_at = now(), outcome = 'completed' WHERE id = $1`, id)
	over, err = w.db.EndedJobs(t.Context(), []string{job})
	if err != nil || !slices.Equal(over, []string{job}) {
		t.Errorf("over are %v, %v", over, err)
	}
	if over, err = w.db.EndedJobs(t.Context(), nil); err != nil || len(over) != 0 {
		t.Errorf("of none over are %v, %v", over, err)
	}
}

// TestNomadAllocations tests that a job's processes are found by the id of the job: of a trial and of a task.
func TestNomadAllocations(t *testing.T) {
	w := newWorld(t)
	trial := w.attempt(w.trial(w.experiment(lossSearcher), 0, 1), 1, 2)
	const task = "0f1e2d3c-4b5a-4978-8a69-7b6c5d4e3f2a"
	w.task(tasks.New{ID: task, Type: "NOTEBOOK"})
	w.exec(`INSERT INTO members (allocation_id, rank, node_id, node_name, slot_ids) VALUES ($1, 0, 'n', 'n', '{}')`, task+".1")
	w.exec(`UPDATE members SET nomad_alloc_id = allocation_id || ' seen ' || rank, claimed_by = CASE rank WHEN 0 THEN allocation_id || ' claimed' ELSE '' END`)
	for _, id := range []string{trial, task + ".1"} {
		got, err := w.db.NomadAllocations(t.Context(), "det-"+strings.ReplaceAll(id, ".", "-"))
		want := []string{id + " claimed", id + " seen 0"}
		if id == trial {
			want = append(want, id+" seen 1")
		}
		if slices.Sort(got); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", id, got, err, want)
		}
	}
	for _, job := range []string{"det-1-unknown-1", "det-", "det-x", ""} {
		if got, err := w.db.NomadAllocations(t.Context(), job); err != nil || len(got) != 0 {
			t.Errorf("%q: %q, %v", job, got, err)
		}
	}
}
