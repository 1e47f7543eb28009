package search

import (
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

// foldMemory is the maximum memory of one search according to docs/experiment-config.md.
const foldMemory = 64 << 20

// TestTheLargestSearches tests that the largest searches that a configuration allows do not
// use more memory than documented, even after all their trials have ended.
func TestTheLargestSearches(t *testing.T) {
	turn.First(t)
	space := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "  h%d: {type: double, minval: 0, maxval: 1}\n", i)
		}
		return b.String()
	}
	for name, test := range map[string]struct {
		searcher, space string
		trials          int
	}{
		"random":        {"name: random, max_trials: 100000, max_concurrent_trials: 0", space(200), 100_000},
		"grid":          {"name: grid, max_concurrent_trials: 0", strings.ReplaceAll(space(5), "maxval: 1}", "maxval: 1, count: 10}"), 100_000},
		"constraints":   {"name: random, max_trials: 100000, max_concurrent_trials: 0, constraints: [h0 < h1]", space(10), 100_000},
		"conditions":    {"name: grid, max_concurrent_trials: 0, constraints: [h0 < 2]", strings.ReplaceAll(space(5), "maxval: 1}", "maxval: 1, count: 10}") + "  k: {type: int, minval: 1, maxval: 1, count: 1, when: {l: 2}}\n  l: 2\n", 100_000},
		"async_halving": {"name: async_halving, max_trials: 100000, num_rungs: 5, max_length: 1000, max_concurrent_trials: 0, stop_once: true", space(200), 100_000},
		"adaptive_asha": {"name: adaptive_asha, max_trials: 100000, max_rungs: 5, max_length: 1000000000000000, max_concurrent_trials: 0", space(20), 100_000},
		"tpe":           {"name: random, sampler: tpe, max_trials: 10000, max_concurrent_trials: 0", space(25), 10_000},
		"pbt": {"name: pbt, population_size: 10000, num_rounds: 19, length_per_round: 1, replace_function: {truncate_fraction: 0.5}, " +
			"explore_function: {resample_probability: 0.5, perturb_factor: 0.2}", space(10), 100_000},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := configOf(t, "entrypoint: e\nsearcher: {metric: m, "+test.searcher+"}\nhyperparameters:\n"+test.space)
			before := heap()
			s, err := New(cfg, 7)
			if err != nil {
				t.Fatal(err)
			}
			if n := wantsToRun(s); n > expconf.MaxConcurrent {
				t.Fatalf("%d trials are wanted to run at once", n)
			}
			train(t, s)
			if n := s.Len(); n < test.trials {
				t.Errorf("the search made %d trials, %d were planned", n, test.trials)
			}
			if took := heap() - before; took > foldMemory {
				t.Errorf("the search takes %d MiB", took>>20)
			} else {
				t.Logf("%d trials, %d events, %d MiB", s.Len(), s.Seq(), took>>20)
			}
			runtime.KeepAlive(s)
		})
	}
}

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// train lets every trial report and end as its search wants, until no trial runs.
func train(t *testing.T, s *Search) {
	t.Helper()
	tell := func(kind string, trial int, body any) {
		b, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Apply(Event{Seq: s.Seq() + 1, Kind: kind, Trial: trial, Body: b}); err != nil {
			t.Fatal(err)
		}
	}
	for worked := true; worked; {
		worked = false
		for i := 0; i < s.Len(); i++ {
			w := s.Trial(i)
			if w.Ended || w.Hold && w.Suspended {
				continue
			}
			worked = true
			switch {
			case w.Stop:
				tell(Exited, i, Exit{Reason: lifecycle.ExitStopped})
			case w.Hold:
				tell(Suspended, i, struct{}{})
			default:
				at, metric := max(1, float64(w.Target)), math.Mod(float64(i)*0.618, 1)
				tell(Validated, i, Validation{Metric: &metric, Time: &at})
				if w = s.Trial(i); !w.Stop && !w.Hold && w.Target == 0 {
					tell(Exited, i, Exit{Reason: lifecycle.ExitDone})
				}
			}
		}
	}
}

// TestHyperparametersStayTheSame tests that repeated calls of HParams return the same values,
// and that JSON can represent them.
func TestHyperparametersStayTheSame(t *testing.T) {
	const space = "\nhyperparameters:\n  a: {type: log, base: 10, minval: -300, maxval: 300}\n  b: {c: {type: int, minval: -9007199254740992, maxval: 9007199254740992}, d: {}}\n" +
		"  e: {type: double, minval: -1e300, maxval: 1e300}\n  f: {type: categorical, vals: [null, [1, {x: 2}], y]}\n  g: [1, 2]\n  h: null\n"
	for _, searcher := range []string{
		"{name: random, max_trials: 40, metric: m}", "{name: random, sampler: tpe, max_trials: 40, metric: m, max_concurrent_trials: 4}",
		"{name: adaptive_asha, max_trials: 40, metric: m, max_length: 100}",
		"{name: pbt, metric: m, population_size: 10, num_rounds: 7, length_per_round: 1, replace_function: {truncate_fraction: 0.5}, explore_function: {resample_probability: 0.2, perturb_factor: 0.5}}",
	} {
		s, err := New(configOf(t, "entrypoint: e\nsearcher: "+searcher+space), 7)
		if err != nil {
			t.Fatal(err)
		}
		first := map[int]string{}
		look := func() {
			for i := range s.Len() {
				b, err := json.Marshal(s.HParams(i))
				if err != nil {
					t.Fatalf("%s: trial %d: %v", searcher, i, err)
				}
				if first[i] == "" {
					first[i] = string(b)
				} else if first[i] != string(b) {
					t.Fatalf("%s: trial %d had %s, has %s", searcher, i, first[i], b)
				}
			}
		}
		look()
		train(t, s)
		look()
		if len(first) < 40 {
			t.Errorf("%s: %d trials", searcher, len(first))
		}
	}
}

// TestOutsideIsBounded tests that the program of a custom search cannot exhaust the master's
// memory with trials, hyperparameters or unanswered events.
func TestOutsideIsBounded(t *testing.T) {
	s, err := New(configOf(t, "entrypoint: e\nsearcher: {name: custom, metric: m}\n"), 7)
	if err != nil {
		t.Fatal(err)
	}
	create := func(name, hparams string) Operation {
		return Operation{Create: &Create{Name: name, HParams: json.RawMessage(hparams)}}
	}
	for _, test := range []struct {
		op   Operation
		want string
	}{
		{create("a", `[1]`), "are not a JSON object"},
		{create("a", `{"x": 1e999}`), "numbers in range"},
		{create("a", `{"x": `+strings.Repeat("[", 65)+strings.Repeat("]", 65)+`}`), "nested more than 64 levels"},
		{create("a", `{"x": "`+strings.Repeat("x", 80<<10)+`"}`), "at most 65536 are allowed"},
		{create(strings.Repeat("n", 300), `{}`), "at most 256 are allowed"},
	} {
		if why := s.CheckOutside(Operations{List: []Operation{test.op}}); !strings.Contains(why, test.want) {
			t.Errorf("got %q, want %q", why, test.want)
		}
	}
	large := `{"x": "` + strings.Repeat("x", 60<<10) + `"}`
	var many []Operation
	for i := range 1140 {
		many = append(many, create(fmt.Sprint(i), large))
	}
	if why := s.CheckOutside(Operations{List: many}); !strings.Contains(why, "have at most 67108864 bytes") {
		t.Errorf("%d trials of 60 KiB: %q", len(many), why)
	}
	many = nil
	for i := range expconf.MaxTrials + 1 {
		many = append(many, create(fmt.Sprint(i), `{}`))
	}
	if why := s.CheckOutside(Operations{List: many}); !strings.Contains(why, "at most 100000 trials") {
		t.Errorf("%d trials: %q", len(many), why)
	}
	if err := s.Apply(event(s.Seq()+1, Told, 0, Operations{List: many})); err != nil {
		t.Fatal(err)
	}
	if s.Len() != expconf.MaxTrials {
		t.Errorf("%d trials were made", s.Len())
	}
	if why := s.CheckOutside(Operations{List: []Operation{{Train: &Train{Name: "0", Length: math.MaxInt64}}}}); !strings.Contains(why, "is above 1000000000000000") {
		t.Errorf("an endless length: %q", why)
	}
	told := Operations{List: []Operation{{Train: &Train{Name: "0", Length: 1000}}}}
	if err := s.Apply(event(s.Seq()+1, Told, 0, told)); err != nil {
		t.Fatal(err)
	}
	before, _ := s.Outside()
	for i := range 50_000 {
		m := 1.0
		if err := s.Apply(event(s.Seq()+1, Validated, 0, Validation{Metric: &m, Steps: i % 900})); err != nil {
			t.Fatal(err)
		}
	}
	if after, _ := s.Outside(); len(after)-len(before) > maxQueue {
		t.Errorf("%d events wait for an answer", len(after))
	}
}
