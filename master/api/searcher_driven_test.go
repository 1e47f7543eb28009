package api

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/search"
	"github.com/detent-ml/detent/master/searches"
)

const drivenYAML = "name: x\nentrypoint: x\nsearcher: {name: custom, metric: loss, unit: batches}\n"

// TestAKeptSearchIsTheOneInTheEvents: a request has the same answer whether this master has the search
// in memory, has removed it from memory or has never read it; and reading changes nothing.
func TestAKeptSearchIsTheOneInTheEvents(t *testing.T) {
	r := newRig(t, everySearcher)
	me := r.user("determined")
	id := me.create(drivenYAML)
	base := fmt.Sprintf("/api/v1/experiments/%d/", id)
	var others []int
	for range searches.MaxDriven {
		others = append(others, me.create(drivenYAML))
	}
	same := func(when string) {
		t.Helper()
		kept := me.get(base + "searcher_events").ok().body
		if anew := r.another(everySearcher).user("determined").get(base + "searcher_events").ok().body; string(anew) != string(kept) {
			t.Errorf("%s: the answer from memory is %s, the answer from the events is %s", when, kept, anew)
		}
	}
	same("at first")
	me.post(base+"searcher_operations", `{"triggeredByEvent":{"id":1},"searcherOperations":[{"createTrial":{"requestId":"a","hyperparams":"{}"}},{"trialOperation":{"validateAfter":{"requestId":"a","length":"10"}}}]}`).ok()
	same("after a trial was made")
	// The master rejects the last operation, so it must not store the others either.
	me.post(base+"searcher_operations", `{"searcherOperations":[{"createTrial":{"requestId":"b","hyperparams":"{}"}},{"closeTrial":{"requestId":"a"}},{"closeTrial":{"requestId":"a"}}]}`).says(400, "has ended")
	same("after operations that were refused")
	r.event(id, search.Validated, 0, search.Validation{Metric: new(float64), Steps: 10})
	same("after a result")
	for _, other := range others {
		me.get(fmt.Sprintf("/api/v1/experiments/%d/searcher_events", other)).ok()
	}
	r.event(id, search.Exited, 0, search.Exit{Reason: "errored"})
	same("after the search was removed from memory")
}

// BenchmarkSearcherPoll measures one round of a program that drives a search: a result arrives,
// the program reads the events and sends operations.
func BenchmarkSearcherPoll(b *testing.B) {
	for _, trials := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("trials=%d", trials), func(b *testing.B) { benchmarkPoll(b, trials) })
	}
}

func benchmarkPoll(b *testing.B, trials int) {
	r := newRig(b, everySearcher)
	me := r.user("determined")
	id := me.create(drivenYAML)
	r.manyDriven(id, trials)
	base := fmt.Sprintf("/api/v1/experiments/%d/", id)
	me.get(base + "searcher_events").ok()
	trial, answered := 0, 0
	for b.Loop() {
		b.StopTimer()
		r.event(id, search.Validated, trial%trials, search.Validation{Metric: new(float64), Steps: 10})
		trial++
		b.StartTimer()
		var got struct {
			SearcherEvents []struct {
				ID int `json:"id"`
			} `json:"searcherEvents"`
		}
		if err := json.Unmarshal(me.get(base+"searcher_events").ok().body, &got); err != nil || len(got.SearcherEvents) == 0 {
			b.Fatalf("%d events, %v", len(got.SearcherEvents), err)
		}
		if first := got.SearcherEvents[0].ID; first <= answered {
			b.Fatalf("event %d was returned again", first)
		}
		answered = got.SearcherEvents[len(got.SearcherEvents)-1].ID
		me.post(base+"searcher_operations", fmt.Sprintf(`{"triggeredByEvent":{"id":%d},"searcherOperations":[{"setSearcherProgress":{"progress":0.5}}]}`, answered)).ok()
	}
}

// manyDriven creates trials with results, as events that the program has answered.
func (r *rig) manyDriven(experiment, trials int) {
	r.t.Helper()
	var list []experiments.NewEvent
	add := func(kind string, trial int, what any) {
		body, err := json.Marshal(what)
		if err != nil {
			r.t.Fatal(err)
		}
		list = append(list, experiments.NewEvent{ExperimentID: experiment, Trial: trial, Kind: kind, Body: body})
	}
	ops := search.Operations{Event: 1}
	for i := range trials {
		name := fmt.Sprintf("trial-%d", i)
		ops.List = append(ops.List, search.Operation{Create: &search.Create{Name: name, HParams: json.RawMessage(`{"lr":0.1}`)}},
			search.Operation{Train: &search.Train{Name: name, Length: 10}})
	}
	add(search.Told, 0, ops)
	const reports = 5
	for step := range reports {
		for i := range trials {
			add(search.Validated, i, search.Validation{Metric: new(float64), Steps: step})
		}
	}
	add(search.Told, 0, search.Operations{Event: 1 + trials*(reports+1)})
	err := r.db.Tx(r.t.Context(), func(tx *database.DB) error { return experiments.AppendEvents(r.t.Context(), tx, list) })
	if err != nil {
		r.t.Fatal(err)
	}
}
