package faults

import (
	"cmp"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/search"
)

// A replay is a search computed again from its rows.
type replay struct {
	cfg    expconf.Config
	seed   int64
	events []search.Event
}

func (h *hunt) recorded(t *testing.T) *replay {
	t.Helper()
	p := &replay{seed: rig.Value[int64](t, h.Rig, `SELECT seed FROM experiments WHERE id = $1`, h.experiment)}
	var err error
	if p.cfg, err = expconf.ParseConfigJSON(rig.Value[json.RawMessage](t, h.Rig, `SELECT config FROM experiments WHERE id = $1`, h.experiment)); err != nil {
		t.Fatal(err)
	}
	p.events, err = rig.Query(t, h.Rig, pgx.RowToStructByPos[search.Event],
		`SELECT seq, kind, trial, body FROM search_events WHERE experiment_id = $1 ORDER BY seq`, h.experiment)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// to folds the first events.
func (p *replay) to(t *testing.T, n int) *search.Search {
	t.Helper()
	s, err := search.New(p.cfg, p.seed)
	if err != nil {
		t.Fatal(err)
	}
	p.on(t, s, n)
	return s
}

// on folds further, up to n events.
func (p *replay) on(t *testing.T, s *search.Search, n int) {
	t.Helper()
	for _, e := range p.events[s.Seq():n] {
		if err := s.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
}

// decisions lists all decisions of a search.
type decisions struct {
	trials  []search.Trial
	hparams []map[string]any // of the trials
	verdict lifecycle.SearchStatus
	why     string
	best    int
	metric  *float64
}

func decided(s *search.Search) decisions {
	d := decisions{trials: s.Wanted()}
	for i := range d.trials {
		d.hparams = append(d.hparams, s.HParams(i))
	}
	d.verdict, d.why = s.Status()
	d.best, d.metric = s.Best()
	return d
}

// checkReplay: the stored events give the stored decisions, also when the computation begins at any
// later event.
func (h *hunt) checkReplay(t *testing.T) {
	t.Helper()
	p := h.recorded(t)
	last := decided(p.to(t, len(p.events)))
	walked := p.to(t, 0)
	held := map[int]bool{} // trials that were held at some time since their own last event
	for n := range len(p.events) + 1 {
		p.on(t, walked, n)
		anew := p.to(t, n)
		if x, y := decided(walked), decided(anew); !reflect.DeepEqual(x, y) {
			t.Fatalf("after %d events, on the way the decisions were %+v, anew %+v", n, x, y)
		}
		for _, w := range anew.Wanted() {
			if w.Hold && !w.Suspended {
				held[w.Number] = true
			}
		}
		if n < len(p.events) {
			followed(t, anew, p.events[n], held)
			delete(held, p.events[n].Trial)
		}
		p.on(t, anew, len(p.events))
		if x := decided(anew); !reflect.DeepEqual(x, last) {
			t.Fatalf("begun anew after %d events, the search ends in %+v, otherwise in %+v", n, x, last)
		}
	}
	if last.verdict != lifecycle.SearchDone {
		t.Errorf("the replay concludes %q: %s", last.verdict, last.why)
	}
	h.checkRungs(t, p, h.checkTrials(t, last))
	t.Logf("%d events, replayed from each of them", len(p.events))
}

// followed: every step of the cluster followed from a decision of the search. A trial may exit just
// after the result of another trial promoted it, because the loop had read the events before that
// result arrived.
func followed(t *testing.T, s *search.Search, e search.Event, held map[int]bool) {
	t.Helper()
	if e.Trial >= s.Len() {
		t.Errorf("event %d is of trial %d; the search had made %d", e.Seq, e.Trial, s.Len())
		return
	}
	w := s.Trial(e.Trial)
	var x search.Exit
	if err := json.Unmarshal(e.Body, &x); err != nil {
		t.Fatal(err)
	}
	switch {
	case e.Kind == search.Suspended && !held[e.Trial]:
		t.Errorf("event %d: trial %d left, while the search wanted %+v", e.Seq, e.Trial, w)
	case e.Kind == search.Exited && x.Reason != lifecycle.ExitCanceled && !w.Stop:
		t.Errorf("event %d: trial %d ended (%s), while the search wanted %+v", e.Seq, e.Trial, x.Reason, w)
	}
}

// checkTrials compares the rows of trials with the replay's decisions.
func (h *hunt) checkTrials(t *testing.T, want decisions) []huntTrial {
	t.Helper()
	trials, err := rig.Query(t, h.Rig, pgx.RowToStructByPos[huntTrial], `
		SELECT number, restarts, state, hparams, seed, coalesce(target, 0),
			(SELECT coalesce(max(steps), 0) FROM metrics m WHERE m.trial_id = t.id)
		FROM trials t WHERE experiment_id = $1 ORDER BY number`, h.experiment)
	if err != nil {
		t.Fatal(err)
	}
	if len(trials) != huntTrials || len(want.trials) != huntTrials {
		t.Fatalf("%d trials are in the rows, %d in the replay", len(trials), len(want.trials))
	}
	killed := 0
	for i, row := range trials {
		w := want.trials[i]
		x := want.hparams[i]["x"].(float64)
		trials[i].loss = math.Abs(x - huntBest)
		var hparams struct{ X float64 }
		if err := json.Unmarshal(row.HParams, &hparams); err != nil {
			t.Fatal(err)
		}
		if row.Number != i || row.Seed != w.Seed || row.Target != w.Target || hparams.X != x {
			t.Errorf("trial %d is %+v with %s; the replay wants %+v", i, row, row.HParams, w)
		}
		switch {
		case row.Restarts != 0:
			t.Errorf("%d restarts are counted against trial %d", row.Restarts, i)
		case row.State == "CANCELED":
			killed++
		case row.State != "COMPLETED" || !w.Stop || row.Batches != w.Target:
			t.Errorf("trial %d is %s after %d batches; the replay wants %+v", i, row.State, row.Batches, w)
		}
	}
	if killed != 1 {
		t.Errorf("%d trials were killed, want 1", killed)
	}
	if best := rig.Value[int](t, h.Rig, `SELECT number FROM trials WHERE id = (SELECT best_trial_id FROM experiments WHERE id = $1)`, h.experiment); best != want.best {
		t.Errorf("the best trial is %d in the rows, %d in the replay", best, want.best)
	}
	return trials
}

// checkRungs: regardless of the order of results, the best quarter of a rung continued, and the worst
// did not.
func (h *hunt) checkRungs(t *testing.T, p *replay, trials []huntTrial) {
	t.Helper()
	trained := map[int64]int{}
	brackets := map[int64][]huntTrial{} // by their first rung
	first := p.firstTargets(t)
	for i, row := range trials {
		trained[row.Batches]++
		if row.State == "CANCELED" {
			row.loss = math.Inf(1) // which is how its rung counts it
		}
		brackets[first[i]] = append(brackets[first[i]], row)
	}
	t.Logf("trials by the batches that they trained for: %v", trained)
	if want := 2; len(brackets) != want {
		t.Errorf("%d brackets, want %d", len(brackets), want)
	}
	for begins, rows := range brackets {
		for rung := begins; rung < huntLength; rung *= 4 {
			there := slices.DeleteFunc(slices.Clone(rows), func(x huntTrial) bool { return x.State != "CANCELED" && x.Batches < rung })
			slices.SortFunc(there, func(x, y huntTrial) int { return cmp.Compare(x.loss, y.loss) })
			for i, x := range there {
				if i < len(there)/4 && x.Batches == rung {
					t.Errorf("trial %d was number %d of %d after %d batches, and did not train on", x.Number, i+1, len(there), rung)
				}
			}
			if last := there[len(there)-1]; last.Batches > rung {
				t.Errorf("trial %d was the worst of %d after %d batches, and trained on", last.Number, len(there), rung)
			}
		}
	}
}

// firstTargets returns the first rung of each trial.
func (p *replay) firstTargets(t *testing.T) []int64 {
	t.Helper()
	s := p.to(t, 0)
	var list []int64
	for n := range len(p.events) + 1 {
		p.on(t, s, n)
		for len(list) < s.Len() {
			list = append(list, s.Trial(len(list)).Target)
		}
	}
	return list
}
