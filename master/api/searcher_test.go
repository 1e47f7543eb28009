package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/search"
)

func everySearcher(c *Config) {
	c.Site.Capabilities.Searchers = expconf.Everything().Searchers
}

// TestAProgramDrivesASearch: a program controls a search with the events and operations of Determined
// up to 0.37.
func TestAProgramDrivesASearch(t *testing.T) {
	r := newRig(t, everySearcher)
	me := r.user("determined")
	id := me.create("name: x\nentrypoint: x\nsearcher: {name: custom, metric: loss, unit: batches}\n")
	base := fmt.Sprintf("/api/v1/experiments/%d/", id)
	events := func() string {
		b, err := json.Marshal(me.get(base + "searcher_events").ok().tree()["searcherEvents"])
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if got := events(); got != `[{"id":1,"initialOperations":{}}]` {
		t.Errorf("at first: %s", got)
	}
	me.post(base+"searcher_operations", `{"searcherOperations":[{"trialOperation":{"validateAfter":{"requestId":"a","length":"10"}}}]}`).says(400, `request id "a"`)
	me.post(base+"searcher_operations", `{"searcherOperations":[{"createTrial":{"requestId":"a","hyperparams":"[]"}}]}`).says(400, "searcherOperations[0]", "hyperparams")
	me.post(base+"searcher_operations", `{"searcherOperations":[{}]}`).says(400, "createTrial")
	me.post(base+"searcher_operations", fmt.Sprintf(`{"experimentId":%d,"triggeredByEvent":{"id":1,"initialOperations":{}},"searcherOperations":[
		{"createTrial":{"requestId":"a","hyperparams":"{\"lr\": 0.5}"}},{"trialOperation":{"validateAfter":{"requestId":"a","length":"10"}}}]}`, id)).ok()
	if got := events(); got != `[{"id":2,"trialCreated":{"requestId":"a"}}]` {
		t.Errorf("after a trial was made: %s", got)
	}
	r.event(id, search.Validated, 0, search.Validation{Metric: new(float64), Steps: 10})
	r.event(id, search.Exited, 0, search.Exit{Reason: "errored"})
	got := events()
	for _, want := range []string{`{"id":3,"trialProgress":{"partialUnits":10,"requestId":"a"}}`,
		`{"id":4,"validationCompleted":{"metric":0,"requestId":"a","validateAfterLength":"10"}}`,
		`{"id":5,"trialExitedEarly":{"exitedReason":"EXITED_REASON_ERRORED","requestId":"a"}}`, `{"id":6,"trialClosed":{"requestId":"a"}}`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	me.post(base+"searcher_operations", `{"triggeredByEvent":{"id":6},"searcherOperations":[{"shutDown":{"cancel":false,"failure":false}}]}`).ok()
	r.moves(id, "PAUSED", "COMPLETED")
	if got := events(); !strings.Contains(got, `"experimentInactive":{"experimentState":"STATE_COMPLETED"}`) {
		t.Errorf("at the end: %s", got)
	}
	me.post(base+"searcher_operations", `{"searcherOperations":[]}`).says(409, "has ended")
	other := me.create(yaml())
	me.get(fmt.Sprintf("/api/v1/experiments/%d/searcher_events", other)).says(400, "single")
}

func (r *rig) event(experiment int, kind string, trial int, body any) {
	r.t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		r.t.Fatal(err)
	}
	err = r.db.Tx(r.t.Context(), func(tx *database.DB) error {
		return experiments.AppendEvents(r.t.Context(), tx, []experiments.NewEvent{{ExperimentID: experiment, Trial: trial, Kind: kind, Body: b}})
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// TestOperationsOfATrialThatWaits: a trial receives one length after another, the search receives the
// result of each length, and the trial is preempted when it has to wait.
func TestOperationsOfATrialThatWaits(t *testing.T) {
	r := newRig(t, everySearcher)
	a := r.running("name: x\nentrypoint: x\nsearcher: {name: async_halving, metric: loss, num_rungs: 2, max_trials: 4, max_length: {batches: 100}}\n", 1)
	me := a.ranks[0]
	set := func(held bool, target int) {
		if err := r.db.Exec(t.Context(), `UPDATE trials SET held = $2, target = $3 WHERE id = $1`, a.trial, held, target); err != nil {
			t.Fatal(err)
		}
	}
	op := func() string {
		o := me.get(a.trialPath("/searcher/operation")).ok().tree()
		return fmt.Sprint(at(t, o, "op.validateAfter.length"), " ", o["completed"])
	}
	set(false, 25)
	if got := op(); got != "25 false" {
		t.Errorf("at first: %s", got)
	}
	me.post(a.trialPath("/searcher/completed_operation"), `{"op":{"length":"26"},"searcherMetric":0.5}`).says(400, "25")
	me.post(a.trialPath("/searcher/completed_operation"), `{"op":{"length":"25"},"searcherMetric":0.5}`).ok()
	var body string
	if err := r.db.QueryRow(t.Context(), `SELECT body::text FROM search_events WHERE kind = 'validated'`).Scan(&body); err != nil || !strings.Contains(body, `"length": 25`) {
		t.Errorf("the search received %s, %v", body, err)
	}
	set(true, 25)
	if got := op(); got != "25 true" {
		t.Errorf("when it is to wait: %s", got)
	}
	set(false, 100)
	if got := op(); got != "100 false" {
		t.Errorf("when the trial continues: %s", got)
	}
	me.post(a.trialPath("/searcher/completed_operation"), `{"op":{"length":"25"}}`).ok() // said twice
	if got := op(); got != "100 false" {
		t.Errorf("after a repeated report: %s", got)
	}
}

func TestPreviewSearch(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	got := me.post("/api/v1/preview-hp-search", `{"config":{"searcher":{"name":"adaptive_asha","metric":"acc","max_length":{"batches":5000},"max_trials":6}}}`).ok().tree()
	b, err := json.Marshal(at(t, got, "summary.trials"))
	if err != nil {
		t.Fatal(err)
	}
	if want := `[{"count":5,"unit":{"maxLength":false,"name":"batches","value":1250}},{"count":1,"unit":{"maxLength":true,"name":"batches","value":5000}}]`; string(b) != want {
		t.Errorf("%s", b)
	}
	if name := at(t, got, "summary.config.name"); name != "adaptive_asha" {
		t.Errorf("the searcher is %v", name)
	}
	asked := me.post("/api/v1/preview-hp-search", `{"config":{"searcher":{"name":"adaptive_asha","sampler":"program","metric":"acc","max_length":{"batches":5000},"max_trials":6}}}`).ok().tree()
	if same, err := json.Marshal(at(t, asked, "summary.trials")); err != nil || string(same) != string(b) {
		t.Errorf("of a program: %s, %v", same, err)
	}
	me.post("/api/v1/preview-hp-search", `{"config":{"searcher":{"name":"adaptive_asha","metric":"acc"}}}`).says(400, "max_trials", "max_length")
	const learns = `{"config":{"searcher":{"name":"random","metric":%q,"max_trials":6,"learn_from":[%d]}}}`
	me.post("/api/v1/preview-hp-search", fmt.Sprintf(learns, "acc", 77)).says(400, "searcher.learn_from[0]: there is no experiment 77")
}
