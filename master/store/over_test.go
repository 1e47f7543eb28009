package store

import (
	"slices"
	"strings"
	"testing"
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
	w.task(NewTask{ID: task, Type: "NOTEBOOK"})
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

// TestSubmissionOfATrialThatStartsFromAnothers tests that a submission has the storage of the
// checkpoint from which its trial starts.
func TestSubmissionOfATrialThatStartsFromAnothers(t *testing.T) {
	w := newWorld(t)
	const checkpoint = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
	source := w.trial(w.experiment(lossSearcher), 0, 1)
	first := w.attempt(source, 1, 1)
	w.exec(`INSERT INTO checkpoints (uuid, task_id, allocation_id, trial_id, run_id, steps, state, resources, metadata, size)
		VALUES ($1, $2, $3, $4, 1, 5, 'COMPLETED', '{}', '{}', 0)`, checkpoint, w.taskOf(source), first, source)
	trial := w.trial(w.experiment(lossSearcher), 0, 1)
	id := w.attempt(trial, 1, 1)
	for _, warm := range []bool{false, true} {
		if warm {
			w.exec(`UPDATE trials SET warm_start = $2 WHERE id = $1`, trial, checkpoint)
		}
		w.exec(`UPDATE allocations SET state = 'ASSIGNED', submitted_at = NULL, kill_at = NULL, refused_why = '' WHERE id = $1`, id)
		list, err := w.db.Submissions(t.Context(), []string{id})
		if err != nil || len(list) != 1 {
			t.Fatalf("%d submissions, %v", len(list), err)
		}
		s := list[0]
		if warm != (s.WarmStart != nil) || warm != (len(s.WarmConfig) > 0) || warm && *s.WarmStart != checkpoint {
			t.Errorf("warm %v: from %v of %s", warm, s.WarmStart, s.WarmConfig)
		}
	}
}

// TestSubmissionOfATensorboard tests that a submission has the trials that a TensorBoard shows,
// which decide about its rights.
func TestSubmissionOfATensorboard(t *testing.T) {
	w := newWorld(t)
	one, two := w.experiment(lossSearcher), w.experiment(lossSearcher)
	a, b := w.trial(one, 0, 1), w.trial(two, 0, 1)
	w.task(NewTask{ID: "tb", Type: "TENSORBOARD", Tensorboard: &Tensorboard{ExperimentIDs: []int{one}, TrialIDs: []int{b}}})
	w.task(NewTask{ID: "nb", Type: "NOTEBOOK"})
	for _, id := range []string{"tb", "nb"} {
		w.exec(`UPDATE allocations SET state = 'ASSIGNED' WHERE id = $1 || '.1'`, id)
	}
	list, err := w.db.Submissions(t.Context(), []string{"tb.1", "nb.1"})
	if err != nil || len(list) != 2 {
		t.Fatalf("%d submissions, %v", len(list), err)
	}
	for _, s := range list {
		var trials []int
		for _, shown := range s.Shows {
			if shown.TrialID != nil && len(shown.Config) > 0 {
				trials = append(trials, *shown.TrialID)
			}
		}
		if want := map[string][]int{"tb": {a, b}}[s.TaskID]; !slices.Equal(trials, want) {
			t.Errorf("%s shows trials %v, want %v", s.TaskID, trials, want)
		}
	}
}
