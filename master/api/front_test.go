package api

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/metrics"
)

// TestFront: a search with several metrics is shown with its front, its checkpoints are listed in the order of the front, and whoever knows one
// metric finds the first.
func TestFront(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	id := me.create("name: f\nentrypoint: x\nsearcher: {name: random, max_trials: 4, metrics: [{name: loss}, {name: ms, at_most: 20}]}\n", `"activate":true`)
	path := fmt.Sprintf("/api/v1/experiments/%d", id)
	got := me.get(path).ok().tree()
	for k, want := range map[string]any{"experiment.searcherMetric": "loss", "experiment.config.searcher.metric": "loss", "experiment.config.searcher.smaller_is_better": true,
		"experiment.config.searcher.metrics.1.at_most": 20.0, "outlook.front": nil} {
		if at(t, got, k) != want {
			t.Errorf("%s = %v, want %v", k, at(t, got, k), want)
		}
	}
	trial, task := r.trial(id, 0)
	r.apply(rows.Changes{Experiments: []rows.ExperimentChange{{ID: id, Saw: "PAUSED", State: "ACTIVE",
		Outlook: `{"front":{"metrics":["loss","ms"],"points":[{"trial":0,"steps":20,"values":[0.3,12]},{"trial":9,"steps":9,"values":[1,1]}],"total":2,"results":2,"keeping":1,"bounds":["ms at most 20"]}}`}}})
	got = me.get(path).ok().tree()
	for k, want := range map[string]any{"outlook.front.points.0.trialId": float64(trial), "outlook.front.points.0.stepsCompleted": 20.0, "outlook.front.points.0.values.1": 12.0,
		"outlook.front.total": 2.0, "outlook.says.0": "2 results are on the front of loss, ms; of 2 trials, 1 found one that keeps the bounds (ms at most 20)"} {
		if at(t, got, k) != want {
			t.Errorf("%s = %v, want %v", k, at(t, got, k), want)
		}
	}
	if n := len(at(t, got, "outlook.front.points").([]any)); n != 1 {
		t.Errorf("%d points: a trial without a row has no id", n)
	}

	ctx := t.Context()
	w := newMetricWriter(r.db, r.bus, 0)
	for step, values := range map[int]string{10: `{"loss": 0.1, "ms": 30}`, 20: `{"loss": 0.3, "ms": 12}`, 30: `{"loss": 0.5, "ms": 5}`, 40: `{"loss": 0.6, "ms": 13}`, 50: `{"loss": 0.0}`} {
		if err := w.Report(ctx, metrics.Report{TrialID: trial, RunID: 1, Group: "validation", Steps: &step, Metrics: json.RawMessage(values)}); err != nil {
			t.Fatal(err)
		}
		if err := checkpoints.Add(ctx, r.db, checkpoints.New{UUID: fmt.Sprintf("00000000-0000-4000-8000-%08d%04d", trial, step), TaskID: task, AllocationID: task + ".1", RunID: 1,
			State: "COMPLETED", Steps: step, Metadata: json.RawMessage(fmt.Sprintf(`{"steps_completed":%d}`, step))}); err != nil {
			t.Fatal(err)
		}
	}
	w.Wait()
	listed := func(query string) (line string) {
		t.Helper()
		for _, k := range at(t, me.get(path+"/checkpoints?"+query).ok().tree(), "checkpoints").([]any) {
			line += fmt.Sprintf("%v ", at(t, k, "metadata.steps_completed"))
		}
		return line
	}
	for query, want := range map[string]string{
		"sortByAttr=SORT_BY_SEARCHER_METRIC":                       "20 30 40 10 50", // the front, what it dominates, what breaks the bound, what has no result
		"sortByAttr=SORT_BY_SEARCHER_METRIC&orderBy=ORDER_BY_ASC":  "20 30 40 10 50",
		"sortByAttr=SORT_BY_SEARCHER_METRIC&orderBy=ORDER_BY_DESC": "10 40 30 20 50",
		"sortByAttr=SORT_BY_SEARCHER_METRIC&limit=2&offset=1":      "30 40",
		"sortByAttr=SORT_BY_SEARCHER_METRIC&offset=4":              "50",
		"sortByMetric=loss": "50 10 20 30 40",
		"sortByAttr=SORT_BY_SEARCHER_METRIC&states=STATE_DELETED": "",
	} {
		if want != "" {
			want += " "
		}
		if line := listed(query); line != want {
			t.Errorf("%s: %s, want %s", query, line, want)
		}
	}
	// Of many checkpoints, a page does not read and order all.
	for _, c := range []struct {
		more int
		want string
	}{{1995, "20 30 40 10 50 "}, {1, "50 10 20 30 40 "}} {
		r.exec(`INSERT INTO checkpoints (uuid, task_id, trial_id, run_id, steps, state) SELECT gen_random_uuid(), $1, $2, 1, 60, 'COMPLETED' FROM generate_series(1, $3)`, task, trial, c.more)
		if line := listed("sortByAttr=SORT_BY_SEARCHER_METRIC&limit=5"); line != c.want {
			t.Errorf("with %d more checkpoints: %s, want %s", c.more, line, c.want)
		}
	}
}
