package attempts_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/tasks"
)

// TestOver tests EndedJobs: jobs whose attempts have ended or do not exist.
func TestOver(t *testing.T) {
	w := rowtest.New(t)
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	id := w.Attempt(trial, 1, 1)
	job := "det-" + strings.ReplaceAll(id, ".", "-")
	over, err := attempts.EndedJobs(t.Context(), w.DB, []string{job, "det-9-unknown-1"})
	if err != nil || !slices.Equal(over, []string{"det-9-unknown-1"}) {
		t.Fatalf("over are %v, %v", over, err)
	}
	w.Exec(`UPDATE allocations SET state = 'TERMINATED', ended_at = now(), outcome = 'completed' WHERE id = $1`, id)
	over, err = attempts.EndedJobs(t.Context(), w.DB, []string{job})
	if err != nil || !slices.Equal(over, []string{job}) {
		t.Errorf("over are %v, %v", over, err)
	}
	if over, err = attempts.EndedJobs(t.Context(), w.DB, nil); err != nil || len(over) != 0 {
		t.Errorf("of none over are %v, %v", over, err)
	}
}

// TestNomadAllocations tests that a job's processes are found by the id of the job: of a trial and of a task.
func TestNomadAllocations(t *testing.T) {
	w := rowtest.New(t)
	trial := w.Attempt(w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1), 1, 2)
	const task = "0f1e2d3c-4b5a-4978-8a69-7b6c5d4e3f2a"
	if _, err := tasks.Create(t.Context(), w.DB, tasks.New{ID: task, Type: "NOTEBOOK", OwnerID: 2, WorkspaceID: 1, Name: "t", Config: []byte(`{}`), Pool: "default", Priority: 42}); err != nil {
		t.Fatal(err)
	}
	w.Exec(`INSERT INTO members (allocation_id, rank, node_id, node_name, slot_ids) VALUES ($1, 0, 'n', 'n', '{}')`, task+".1")
	w.Exec(`UPDATE members SET nomad_alloc_id = allocation_id || ' seen ' || rank, claimed_by = CASE rank WHEN 0 THEN allocation_id || ' claimed' ELSE '' END`)
	for _, id := range []string{trial, task + ".1"} {
		got, err := attempts.NomadAllocations(t.Context(), w.DB, "det-"+strings.ReplaceAll(id, ".", "-"))
		want := []string{id + " claimed", id + " seen 0"}
		if id == trial {
			want = append(want, id+" seen 1")
		}
		if slices.Sort(got); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", id, got, err, want)
		}
	}
	for _, job := range []string{"det-1-unknown-1", "det-", "det-x", ""} {
		if got, err := attempts.NomadAllocations(t.Context(), w.DB, job); err != nil || len(got) != 0 {
			t.Errorf("%q: %q, %v", job, got, err)
		}
	}
}
