package experiments

import (
	"fmt"
	"slices"
	"testing"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/find"
	"github.com/detent-ml/detent/master/find/query"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// In the order of the best metric, experiments without a value come last in both directions, and those of each metric are together.
func TestOrderOfBestMetrics(t *testing.T) {
	w := newWorld(t)
	made := func(metric string, best any) int {
		id := w.Experiment(fmt.Sprintf(`{"name": "single", "metric": %q}`, metric))
		w.Exec(`UPDATE experiments SET best_metric = $2 WHERE id = $1`, id, best)
		return id
	}
	none, high, accuracy, low, empty := made("loss", nil), made("loss", 3.0), made("accuracy", 0.9), made("loss", 0.1), made("accuracy", nil)
	for desc, want := range map[bool][]int{false: {accuracy, low, high, none, empty}, true: {accuracy, high, low, empty, none}} {
		list, err := List(t.Context(), w.DB, auth.Everywhere(), Filter{Sort: "metric", Desc: desc}, 0, 100)
		var got []int
		for _, e := range list {
			got = append(got, e.ID)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("descending %v: %v, want %v (%v)", desc, got, want, err)
		}
		found, _, err := Search(t.Context(), w.DB, auth.Everywhere(), query.Search{Sort: []find.Sort{{Column: find.Column{Location: find.Experiment, Name: "searcherMetricsVal", Type: find.Number}, Desc: desc}}}, 0, 100)
		got = nil
		for _, e := range found {
			got = append(got, e.ID)
		}
		if err != nil || !slices.Equal(got[:3], want[:3]) {
			t.Errorf("the search, descending %v: %v, want %v first (%v)", desc, got, want[:3], err)
		}
	}
}

// The best trials of a search come first, and trials without a value last.
func TestOrderOfBestTrials(t *testing.T) {
	w := newWorld(t)
	exp := w.Experiment(rowtest.LossSearcher)
	var ids []int
	for i, best := range []any{nil, 2.0, 1.0} {
		ids = append(ids, w.Trial(exp, i, 1))
		w.Exec(`INSERT INTO trial_summaries (trial_id, searcher_value) VALUES ($1, $2) ON CONFLICT (trial_id) DO UPDATE SET searcher_value = EXCLUDED.searcher_value`, ids[i], best)
	}
	for desc, want := range map[bool][]int{false: {ids[2], ids[1], ids[0]}, true: {ids[1], ids[2], ids[0]}} {
		list, err := ListTrials(t.Context(), w.DB, auth.Everywhere(), TrialFilter{ExperimentID: exp, Sort: "best", Desc: desc}, 0, 100)
		var got []int
		for _, trial := range list {
			got = append(got, trial.ID)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("descending %v: %v, want %v (%v)", desc, got, want, err)
		}
	}
}
