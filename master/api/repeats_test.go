package api

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/search"
)

// TestRepeats: an experiment shows the configurations that its search has trained again, by the ids of trials, and when all repeats have ended the
// checkpoints of the best configuration are the best, although another result is better: in lists, and for save_experiment_best.
func TestRepeats(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	id := me.create("name: f\nentrypoint: x\nsearcher: {name: random, metric: loss, max_trials: 8, max_concurrent_trials: 0, repeat: {best: 2, times: 2}}\n", `"activate":true`)
	path := fmt.Sprintf("/api/v1/experiments/%d", id)
	if got := at(t, me.get(path).ok().tree(), "outlook.repeats"); got != nil {
		t.Errorf("before the search says so: %v", got)
	}
	// As if the trials 2 and 3 were repeats of 0 and 1.
	said := func(saw string, o search.RepeatOutlook) any {
		t.Helper()
		b, err := json.Marshal(search.Outlook{Repeats: &o})
		if err != nil {
			t.Fatal(err)
		}
		r.apply(rows.Changes{Experiments: []rows.ExperimentChange{{ID: id, Saw: saw, State: "ACTIVE", Outlook: string(b)}}})
		return me.get(path).ok().tree()
	}
	trials := make([]int, 4)
	tasks := make([]string, 4)
	for i := range trials {
		trials[i], tasks[i] = r.trial(id, i)
	}
	list := []search.Repeated{{Of: 0, Trials: []int{2}}, {Of: 1, Trials: []int{3, 9}, Results: 1, Mean: new(0.5)}}
	got := said("PAUSED", search.RepeatOutlook{Times: 2, List: list})
	for k, want := range map[string]any{"outlook.repeats.configurations.1.trialId": float64(trials[1]), "outlook.repeats.configurations.1.mean": 0.5,
		"outlook.repeats.configurations.1.deviation": nil, "outlook.repeats.decided": false,
		"outlook.says.0": "the 2 best configurations are trained again, 4 times in all; 1 with a result so far"} {
		if at(t, got, k) != want {
			t.Errorf("%s = %v, want %v", k, at(t, got, k), want)
		}
	}
	if ids := fmt.Sprint(at(t, got, "outlook.repeats.configurations.1.trialIds")); ids != fmt.Sprint([]float64{float64(trials[3])}) {
		t.Errorf("the repeats are %s: a trial without a row has no id", ids)
	}

	ctx := t.Context()
	w := newMetricWriter(r.db, r.bus, 0)
	for i, loss := range []float64{0.1, 0.2, 0.5, 0.4} {
		step := 10 + i
		if err := w.Report(ctx, metrics.Report{TrialID: trials[i], RunID: 1, Group: "validation", Steps: &step, Metrics: json.RawMessage(fmt.Sprintf(`{"loss": %v}`, loss))}); err != nil {
			t.Fatal(err)
		}
		if err := checkpoints.Add(ctx, r.db, checkpoints.New{UUID: fmt.Sprintf("00000000-0000-4000-8000-%08d%04d", trials[i], step), TaskID: tasks[i], AllocationID: tasks[i] + ".1", RunID: 1,
			State: "COMPLETED", Steps: step, Metadata: json.RawMessage(fmt.Sprintf(`{"steps_completed":%d}`, step))}); err != nil {
			t.Fatal(err)
		}
	}
	w.Wait()
	order := func(query, want string) {
		t.Helper()
		line := ""
		for _, k := range at(t, me.get(path+"/checkpoints?"+query).ok().tree(), "checkpoints").([]any) {
			line += fmt.Sprintf("%v ", at(t, k, "metadata.steps_completed"))
		}
		if line != want {
			t.Errorf("%s: %s, want %s", query, line, want)
		}
	}
	order("sortByAttr=SORT_BY_SEARCHER_METRIC", "10 11 13 12 ")
	list[0].Results, list[0].Mean = 1, new(0.4)
	list[0], list[1] = list[1], list[0]
	got = said("ACTIVE", search.RepeatOutlook{Times: 2, Decided: true, List: list})
	if words := at(t, got, "outlook.says.0"); words != fmt.Sprintf("the 2 best configurations were trained again, 2 times each; that of trial %d is the best, with a mean of 0.5", trials[1]) {
		t.Errorf("it says %v", words)
	}
	order("sortByAttr=SORT_BY_SEARCHER_METRIC", "13 12 10 11 ")
	order("sortByAttr=SORT_BY_SEARCHER_METRIC&limit=1&offset=1", "12 ")
	order("sortByAttr=SORT_BY_SEARCHER_METRIC&orderBy=ORDER_BY_DESC", "12 13 11 10 ")
	order("sortByMetric=loss", "10 11 13 12 ")
	r.moves(id, "ACTIVE", "COMPLETED")
	gone := map[string]bool{}
	goes := me.get(fmt.Sprintf("/experiments/%d", id) + "/preview_gc?save_experiment_best=1&save_trial_best=0&save_trial_latest=0")
	for _, k := range at(t, goes.ok().tree(), "checkpoints").([]any) {
		gone[fmt.Sprint(at(t, k, "StepsCompleted"))] = true
	}
	if len(gone) != 3 || gone["13"] {
		t.Errorf("with save_experiment_best: 1 these go: %v", gone)
	}
}
