package control

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/search"
)

// TestASearchWaitsForItsProgram: without proposals an experiment has no trials and no slots and says why; with them it goes on, also
// after a new leader has read its events; and it ends when the program says that it was the last.
func TestASearchWaitsForItsProgram(t *testing.T) {
	b := newBench(t, "n1")
	e := b.submit("hyperparameters: {x: {type: double, minval: 0, maxval: 1}}\nsearcher: {name: random, metric: loss, max_trials: 5, max_concurrent_trials: 1, sampler: program}")
	propose := func(key, hparams string, last bool) {
		t.Helper()
		body := search.Proposals{Last: last}
		if key != "" {
			body.List = []search.Proposal{{Key: key, HParams: json.RawMessage(hparams)}}
		}
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		b.event(experiments.NewEvent{ExperimentID: e, Kind: search.Told, Body: raw})
	}
	waits := func(when string, want bool) {
		t.Helper()
		got := b.text(`SELECT state || ' ' || left(error, 20) FROM experiments WHERE id = $1`, e)
		if says := got == "ACTIVE waits for proposals:"; says != want {
			t.Errorf("%s the experiment is %q", when, got)
		}
	}
	b.settle()
	waits("at first", true)
	if n := b.int(`SELECT count(*) FROM allocations`); n != 0 {
		t.Errorf("%d attempts without a proposal", n)
	}
	propose("a", `{"x": 0.25}`, false)
	waits("with a proposal", false)
	if got := b.text(`SELECT hparams::text FROM trials WHERE experiment_id = $1`, e); got != `{"x": 0.25}` {
		t.Errorf("the trial has %s", got)
	}
	first := b.start(e, 0)
	b.exit(first, 0)
	b.settle()
	waits("after its trial", true)
	b.succeed(0)
	b.settle()
	waits("under a new leader", true)
	propose("b", `{"x": 0.5}`, false)
	propose("", "", true)
	second := b.start(e, 1)
	waits("while a trial runs", false)
	b.exit(second, 0)
	b.settle()
	if got := b.text(`SELECT state || error FROM experiments WHERE id = $1`, e); got != "COMPLETED" {
		t.Errorf("at the end the experiment is %q", got)
	}
}

// propose lets programs propose what the searches of the simulation want, and sometimes one trial more, or end the search.
func (s *searchWorld) propose(oneIn int) {
	s.t.Helper()
	var ids []int
	var id int
	err := s.db.Each(s.t.Context(), `SELECT id FROM experiments WHERE config #>> '{searcher,sampler}' = 'program' AND ended_at IS NULL ORDER BY id`, nil, []any{&id}, func() error {
		ids = append(ids, id)
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, id := range ids {
		if !s.one(oneIn) {
			continue
		}
		x := s.folded(id)
		body := search.Proposals{Last: s.one(60)}
		for range min(x.Room(), x.Free()+s.rng.IntN(2)) {
			hparams := fmt.Sprintf(`{"lr": %g, "n": %d}`, math.Pow(10, -4*s.rng.Float64()), 1+s.rng.IntN(64))
			body.List = append(body.List, search.Proposal{Key: fmt.Sprintf("%d-%d", x.Seq(), len(body.List)), HParams: json.RawMessage(hparams)})
		}
		fresh, wrong := x.CheckProposals(body)
		if len(wrong) > 0 {
			s.t.Fatalf("experiment %d rejects %+v", id, wrong)
		}
		if len(fresh.List) == 0 && !fresh.Last {
			continue
		}
		told := experiments.NewEvent{ExperimentID: id, Kind: search.Told, Body: mustJSON(s.t, fresh)}
		if err := s.db.Tx(s.t.Context(), func(tx *database.DB) error {
			return experiments.AppendEvents(s.t.Context(), tx, []experiments.NewEvent{told})
		}); err != nil {
			s.t.Fatal(err)
		}
	}
}
