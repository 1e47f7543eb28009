package control

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/search"
	"github.com/detent-ml/detent/master/search/budget"
)

// succeed begins the term of another leader, with this memory for searches.
func (b *bench) succeed(memory int64) {
	b.t.Helper()
	l := b.term.Loop
	l.cfg.Memory = budget.Budget{Bytes: memory}
	lead := &Leadership{Term: b.term.lead.Term}
	lead.extend(time.Now().Add(time.Hour))
	var err error
	if b.term, err = newTerm(b.t.Context(), l, lead); err != nil {
		b.t.Fatal(err)
	}
}

// driven creates a custom experiment whose trials do not train yet, and stores the estimated memory
// of its search.
func (b *bench) driven(trials, bytes int) int {
	b.t.Helper()
	e := b.submit("searcher: {name: custom, metric: loss, unit: batches}\n")
	hparams := json.RawMessage(`{"x": "` + strings.Repeat("x", bytes) + `"}`)
	var memory int64
	for i := range trials {
		ops := search.Operations{List: []search.Operation{{Create: &search.Create{Name: fmt.Sprint(i), HParams: hparams}}}}
		memory += ops.Memory()
		b.event(experiments.NewEvent{ExperimentID: e, Kind: search.Told, Body: mustJSON(b.t, ops)})
	}
	b.exec(`UPDATE experiments SET memory = $2, desired = 'paused', state = 'PAUSED' WHERE id = $1`, e, memory)
	return e
}

func mustJSON(t testing.TB, what any) []byte {
	t.Helper()
	body, err := json.Marshal(what)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// held returns the estimated memory of the searches that the leader has in memory.
func (b *bench) held() (bytes int64) {
	for id, x := range b.term.folds.byID {
		if x.search != nil {
			bytes += int64(b.int(`SELECT memory FROM experiments WHERE id = $1`, id))
		}
	}
	return bytes
}

// another changes the owner of an experiment.
func (b *bench) another(e int) int {
	b.t.Helper()
	b.exec(`UPDATE experiments SET owner_id = (SELECT id FROM users WHERE username = 'admin') WHERE id = $1`, e)
	return e
}

// TestMoreSearchesThanFit tests a new leader whose budget is too small for all searches. It
// reads those that fit, and sets the other experiments aside with the reason; users can
// kill and delete these, and experiments of other owners are not delayed.
func TestMoreSearchesThanFit(t *testing.T) {
	const memory = 1 << 20
	b := newBench(t, "n1")
	var large []int
	for range 5 {
		large = append(large, b.driven(10, 60<<10)) // 0.7 MiB each
	}
	b.succeed(memory)
	small := b.another(b.experiment(""))
	b.exec(`UPDATE experiments SET memory = 10000 WHERE id = $1`, small)
	b.healthy(small)
	if held := b.held(); held == 0 || held > memory {
		t.Errorf("searches of %d bytes are in memory", held)
	}
	if n := b.int(`SELECT count(*) FROM experiments WHERE error <> ''`); n != 0 {
		t.Errorf("%d experiments have an error: those that are paused need no search", n)
	}
	b.exec(`UPDATE experiments SET desired = 'active' WHERE id = ANY($1)`, large)
	b.healthy(b.another(b.experiment("")))
	b.settle()
	if n := b.int(`SELECT count(*) FROM experiments WHERE state = 'ACTIVE' AND error LIKE 'set aside: %search_memory_mb%'`); n != 4 {
		t.Errorf("%d experiments are set aside, want 4", n)
	}
	if held := b.held(); held == 0 || held > memory {
		t.Errorf("searches of %d bytes are in memory", held)
	}
	for i, e := range large[:4] {
		if _, err := experiments.RequestAction(t.Context(), b.db, []int{e}, experiments.Kill); err != nil {
			t.Fatal(err)
		}
		b.settle()
		if got := b.text(`SELECT state || ':' || error FROM experiments WHERE id = $1`, e); got != "CANCELED:" {
			t.Errorf("large experiment %d was killed, and is %s", i, got)
		}
		b.deletable(e)
	}
	if got := b.text(`SELECT state || ':' || error FROM experiments WHERE id = $1`, large[4]); got != "ACTIVE:" || b.term.folds.byID[large[4]].search.Len() != 10 {
		t.Errorf("the last one, for which there is room now, is %s", got)
	}
}

// TestWhatRunsIsNotKilled tests an experiment that is set aside while an attempt runs: the
// attempt runs to its end, no other begins, and the experiment continues when its search
// fits again.
func TestWhatRunsIsNotKilled(t *testing.T) {
	b := newBench(t, "n1", "n2", "n3")
	done, again := b.experiment(""), b.experiment("")
	b.settle()
	for _, e := range []int{done, again} {
		b.claim(b.newest(e))
	}
	waits := b.experiment("")
	b.exec(`UPDATE experiments SET memory = 100000`)
	b.succeed(50_000)
	b.settle()
	for _, e := range []int{done, again} {
		b.want(e, "ACTIVE", "ACTIVE", "RUNNING")
	}
	if n := b.int(`SELECT count(*) FROM experiments WHERE error LIKE 'set aside: %'`); n != 3 || b.held() != 0 {
		t.Errorf("%d experiments are set aside, %d bytes held", n, b.held())
	}
	b.exit(b.newest(done), 0)
	b.exit(b.newest(again), 3) // max_restarts is 1
	b.settle()
	b.want(done, "ACTIVE", "COMPLETED", "TERMINATED completed")
	b.want(again, "ACTIVE", "ACTIVE", "TERMINATED failed")
	if n := b.int(`SELECT count(*) FROM allocations`); n != 2 {
		t.Errorf("%d attempts", n)
	}
	b.term.folds.budget.Bytes = 1 << 20
	b.settle()
	b.want(done, "COMPLETED", "COMPLETED", "TERMINATED completed")
	b.want(again, "ACTIVE", "ACTIVE", "STARTING")
	b.want(waits, "ACTIVE", "ACTIVE", "STARTING")
	if n := b.int(`SELECT count(*) FROM experiments WHERE error <> ''`); n != 0 {
		t.Errorf("%d experiments still have an error", n)
	}
	b.succeed(50_000)
	b.settle()
	b.exec(`UPDATE experiments SET desired = 'killed' WHERE id = $1`, again)
	b.settle()
	b.exit(b.newest(again), 143)
	b.settle()
	b.want(again, "CANCELED", "CANCELED", "TERMINATED killed")
}

// TestAContinuationWaitsForItsSearch tests that an experiment continues only when its search is
// in memory, because only the search knows which trials continue.
func TestAContinuationWaitsForItsSearch(t *testing.T) {
	b := newBench(t, "n1")
	e := b.submit(oneTrial)
	for range 2 {
		b.exit(b.start(e, 0), 3)
		b.settle()
	}
	b.want(e, "ERROR", "ERROR", "TERMINATED failed")
	if err := b.goOn(e, true, ""); err != nil {
		t.Fatal(err)
	}
	b.exec(`UPDATE experiments SET memory = 100000`)
	b.succeed(50_000)
	b.settle()
	b.want(e, "ERROR", "ERROR", "TERMINATED failed")
	b.term.folds.budget.Bytes = 1 << 20
	b.settle()
	b.want(e, "ACTIVE", "ACTIVE", "STARTING")
}

// TestEventsAreReadInParts tests that a new leader reads the events in several loads, and has
// all of them in the end.
func TestEventsAreReadInParts(t *testing.T) {
	b := newBench(t, "n1")
	e := b.driven(10, 60<<10)
	large := mustJSON(t, search.Operations{List: []search.Operation{{Create: &search.Create{Name: "0", HParams: json.RawMessage(`{"x": "` + strings.Repeat("x", 3<<20) + `"}`)}}}})
	for range 10 {
		b.event(experiments.NewEvent{ExperimentID: e, Kind: search.Told, Body: large}) // the search rejects it
	}
	other := b.another(b.experiment(""))
	b.succeed(0)
	var parts []int64
	load := b.term.load
	b.term.load = func(ctx context.Context, known rows.Known) (*rows.Live, error) {
		live, err := load(ctx, known)
		bytes := 0
		for _, ev := range live.Events {
			bytes += len(ev.Body)
		}
		if bytes > 12<<20 {
			t.Errorf("a load has %d bytes of events", bytes)
		}
		if x := b.term.folds.byID[e]; x != nil && x.behind {
			parts = append(parts, x.search.Seq())
		}
		return live, err
	}
	b.healthy(other)
	b.settle()
	if x := b.term.folds.byID[e]; x.search.Seq() != 20 || x.search.Len() != 10 || x.behind || len(parts) < 2 {
		t.Errorf("the search is at event %d with %d trials, read in parts at %v", x.search.Seq(), x.search.Len(), parts)
	}
}

// TestFoldsKeepWhatNodesAreChosenBy: of a configuration that is read once, what decides about nodes stays.
func TestFoldsKeepWhatNodesAreChosenBy(t *testing.T) {
	raw, _, err := expconf.Parse("x.yaml", []byte(`{name: a, entrypoint: x, searcher: {name: single, metric: loss, max_length: {batches: 1}}, environment: {nomad: {constraints: [{attribute: "${meta.a}", value: b}]}},
		resources: {cpus: 2.5, memory: 1GiB, gpu: {model: A100}, equal_parts: true, is_single_node: false}}`))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := expconf.Complete(raw, expconf.ClusterDefaults{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	x := &fold{}
	if err := x.configure(text); err != nil {
		t.Fatal(err)
	}
	r := x.config.Resources
	if optional.Value(r.CPUs) != 2.5 || optional.Value(r.Memory) != 1<<30 || r.GPU == nil || !optional.Value(r.EqualParts) || r.IsSingleNode == nil || x.config.Environment.Nomad == nil {
		t.Errorf("%+v and %+v are left", r, x.config.Environment.Nomad)
	}
}
