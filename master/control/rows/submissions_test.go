package rows

import (
	"slices"
	"testing"

	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/tasks"
)

// TestSubmissionOfATrialThatStartsFromAnothers tests that a submission has the storage of the
// checkpoint from which its trial starts.
func TestSubmissionOfATrialThatStartsFromAnothers(t *testing.T) {
	w := newWorld(t)
	const checkpoint = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
	source := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	first := w.Attempt(source, 1, 1)
	w.Exec(`INSERT INTO checkpoints (uuid, task_id, allocation_id, trial_id, run_id, steps, state, resources, metadata, size)
		VALUES ($1, $2, $3, $4, 1, 5, 'COMPLETED', '{}', '{}', 0)`, checkpoint, w.TaskOf(source), first, source)
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	id := w.Attempt(trial, 1, 1)
	for _, warm := range []bool{false, true} {
		if warm {
			w.Exec(`UPDATE trials SET warm_start = $2 WHERE id = $1`, trial, checkpoint)
		}
		w.Exec(`UPDATE allocations SET state = 'ASSIGNED', submitted_at = NULL, kill_at = NULL, refused_why = '' WHERE id = $1`, id)
		list, err := Submissions(t.Context(), w.DB, false, []string{id})
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
	one, two := w.Experiment(rowtest.LossSearcher), w.Experiment(rowtest.LossSearcher)
	a, b := w.Trial(one, 0, 1), w.Trial(two, 0, 1)
	w.task(tasks.New{ID: "tb", Type: "TENSORBOARD", Tensorboard: &tasks.Board{ExperimentIDs: []int{one}, TrialIDs: []int{b}}})
	w.task(tasks.New{ID: "nb", Type: "NOTEBOOK"})
	for _, id := range []string{"tb", "nb"} {
		w.Exec(`UPDATE allocations SET state = 'ASSIGNED' WHERE id = $1 || '.1'`, id)
	}
	list, err := Submissions(t.Context(), w.DB, false, []string{"tb.1", "nb.1"})
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
