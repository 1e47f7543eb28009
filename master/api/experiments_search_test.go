package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/detent-ml/detent/master/control/rows"
)

func contains(b []byte, text string) bool { return bytes.Contains(b, []byte(text)) }

// trialOf starts the first trial of an experiment.
func (c as) trialOf(r *rig, experiment int) int {
	c.r.t.Helper()
	id, _ := r.trial(experiment, 0)
	return id
}

// isBest makes the first trial of an experiment its best trial.
func (r *rig) isBest(experiment int, metric float64) {
	r.t.Helper()
	first := 0
	r.apply(rows.Changes{Experiments: []rows.ExperimentChange{{ID: experiment, Saw: "PAUSED", State: "PAUSED", BestTrial: &first, BestMetric: &metric}}})
}

// asks sends a search, whose request has these members.
func (c as) asks(members string) answer {
	return c.post("/api/v1/experiments-search", "{"+members+"}")
}

func quotedJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSearchExperiments(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	first := me.create(yaml("labels: [x]", "hyperparameters: {lr: 0.01}"))
	second := me.create(yaml("labels: [y]", "hyperparameters: {lr: {type: log, minval: -3, maxval: -1, base: 10}}"))
	best, _ := r.trial(second, 0)
	r.isBest(second, 0.5)
	got := me.asks(`"limit":1`).ok().tree()
	if at(t, got, "experiments.0.experiment.id") != float64(second) || at(t, got, "experiments.0.bestTrial.id") != float64(best) ||
		at(t, got, "pagination.total") != 2.0 || at(t, got, "pagination.endIndex") != 1.0 || at(t, got, "experiments.0.bestTrial.hparams.lr") == nil {
		t.Errorf("%v", got)
	}
	filter := `{"filterGroup":{"children":[{"columnName":"hp.lr","kind":"field","location":"LOCATION_TYPE_HYPERPARAMETERS","operator":">","type":"COLUMN_TYPE_NUMBER","value":0.05}],"conjunction":"and","kind":"group"},"showArchived":false}`
	ids := func(members string) string {
		t.Helper()
		var found struct {
			Experiments []struct {
				Experiment struct {
					ID     int
					Config map[string]any
				}
			}
		}
		me.asks(members).ok().into(&found)
		var out []int
		for _, e := range found.Experiments {
			out = append(out, e.Experiment.ID)
		}
		return fmt.Sprint(out)
	}
	for members, want := range map[string][]int{
		``: {second, first}, `"sort":"id=asc"`: {first, second}, `"sort":"hp.lr=desc"`: {first, second}, `"filter":` + quotedJSON(t, filter): {second},
		`"query":"label = x"`: {first}, `"query":"metric < 1","projectId":1`: {second}, `"projectId":999`: {}, `"limit":-2`: {},
		`"offset":1,"withoutConfig":true`: {first}, `"query":"name ~ small and user = determined"`: {second, first}, `"filter":` + quotedJSON(t, filter) + `,"query":"label = x"`: {}, `"filter":` + quotedJSON(t, filter) + `,"query":"label = y or label = x"`: {second}, `"filter":null,"sort":null,"query":""`: {second, first},
	} {
		if got := ids(members); got != fmt.Sprint(want) {
			t.Errorf("%s: %s, want %v", members, got, want)
		}
	}
	me.asks(`"query":"label = x and lr < 3"`).says(400, "query: column 15: there is no column")
	me.asks(`"filter":"{"`).says(400, "filter:")
	me.asks(`"sort":"nonsense=asc"`).says(400, "sort: invalid sort col")
	r.anyone().asks(``).is(401)
}

func TestProjectColumns(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	id := me.create(yaml("hyperparameters: {lr: 0.01, opt: adam}"))
	r.trial(id, 0)
	r.isBest(id, 0.5)
	seen := map[string]string{}
	columns := at(t, me.get("/api/v1/projects/1/columns").ok().tree(), "columns").([]any)
	for _, c := range columns {
		seen[at(t, c, "column").(string)] = at(t, c, "location").(string) + " " + at(t, c, "type").(string)
	}
	for column, want := range map[string]string{"id": "LOCATION_TYPE_EXPERIMENT COLUMN_TYPE_NUMBER", "hp.lr": "LOCATION_TYPE_HYPERPARAMETERS COLUMN_TYPE_NUMBER",
		"hp.opt": "LOCATION_TYPE_HYPERPARAMETERS COLUMN_TYPE_UNSPECIFIED", "startTime": "LOCATION_TYPE_EXPERIMENT COLUMN_TYPE_DATE"} {
		if seen[column] != want {
			t.Errorf("%s: %q, want %q", column, seen[column], want)
		}
	}
	me.get("/api/v1/projects/0/columns?tableType=TABLE_TYPE_EXPERIMENT").ok()
	me.get("/api/v1/projects/77/columns").says(404, "77")
	me.get("/api/v1/projects/1/columns?tableType=TABLE_TYPE_CAT").says(400, "tableType")
}

// TestMetricRanges tests that the ranges cover the metrics of best trials only, and numbers only.
func TestMetricRanges(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	if got := at(t, me.get("/api/v1/projects/1/experiments/metric-ranges").ok().tree(), "ranges").([]any); len(got) != 0 {
		t.Errorf("without experiments: %v", got)
	}
	for i, loss := range []float64{0.5, 0.25} {
		id := me.create(yaml())
		trial, _ := r.trial(id, 0)
		r.isBest(id, loss)
		r.exec(`INSERT INTO trial_summaries (trial_id, summary) VALUES ($1, jsonb_build_object('validation_metrics', jsonb_build_object(
			'loss', jsonb_build_object('type', 'number', 'last', $2::float8, 'max', $2::float8 + 1, 'mean', $2::float8, 'min', $2::float8),
			'word', jsonb_build_object('type', 'string', 'last', 'x')))) ON CONFLICT (trial_id) DO UPDATE SET summary = EXCLUDED.summary`, trial, loss+float64(i))
	}
	got := fmt.Sprint(at(t, me.get("/api/v1/projects/0/experiments/metric-ranges").ok().tree(), "ranges"))
	want := "[map[max:0.5 metricsName:searcherMetricsVal min:0.25] map[max:1.25 metricsName:validation.loss.last min:0.5]" +
		" map[max:2.25 metricsName:validation.loss.max min:1.5] map[max:1.25 metricsName:validation.loss.mean min:0.5] map[max:1.25 metricsName:validation.loss.min min:0.5]]"
	if got != want {
		t.Errorf("ranges: %s, want %s", got, want)
	}
	me.get("/api/v1/projects/77/experiments/metric-ranges").says(404, "77")
}
