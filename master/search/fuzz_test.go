package search

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/expconf"
)

// FuzzSample takes the hyperparameters of a random document. If validation accepts them, a
// random draw, the sampler tpe, a grid and pbt must produce values that JSON can represent.
func FuzzSample(f *testing.F) {
	for _, space := range []string{
		"a: {type: log, base: 10, minval: 400, maxval: 500}",
		"a: {type: log, base: 10, minval: -300, maxval: 300}",
		"a: {type: log, base: 1e-300, minval: -1, maxval: 1}",
		"a: {type: double, minval: -1.7e308, maxval: 1.7e308}",
		"a: {type: double, minval: -1e300, maxval: 1e300, count: 3}",
		"a: {type: int, minval: -9007199254740992, maxval: 9007199254740992, count: 7}",
		"a: {b: {c: {type: categorical, vals: [null, [1, {x: 2}], y]}, d: {}}}",
		"a: {type: const, val: {x: [1, .5]}}",
		"a: {type: categorical, vals: [1, x], ordered: true}\nb: {type: int, minval: 1, maxval: 9, log: true, when: {a: x}}\nc: {type: double, minval: 0, maxval: 1, step: 0.3, when: {b: [1, 2]}}",
		"a: {type: double, minval: 1e-300, maxval: 1e300, log: true, step: 1e-300}\nb: {type: int, minval: 1, maxval: 9007199254740992, log: true, step: 7, count: 9}",
		"a: [1, 2]\nb: null\nc: {type: int, minval: 5, maxval: 4}",
	} {
		f.Add(space, uint32(7))
	}
	f.Fuzz(func(t *testing.T, space string, seed uint32) {
		doc := "entrypoint: e\nsearcher: {name: random, metric: m, max_trials: 8}\nhyperparameters:\n"
		for line := range lines(space) {
			doc += "  " + line + "\n"
		}
		raw, _, err := expconf.Parse("fuzz.yaml", []byte(doc))
		if err != nil {
			return
		}
		cfg, err := expconf.Complete(raw, expconf.ClusterDefaults{Name: "x"})
		if err != nil || cfg.ValidateSearch() != nil {
			return
		}
		written := func(how string, hparams map[string]any) {
			if _, err := json.Marshal(hparams); err != nil {
				t.Fatalf("%s: %v", how, err)
			}
		}
		for _, sampler := range []string{expconf.Uniform, expconf.TPE} {
			cfg.Searcher.Sampler = sampler
			s, err := New(cfg, int64(seed))
			if err != nil {
				t.Fatal(err)
			}
			train(t, s)
			for i := range s.Len() {
				checkTrial(t, cfg, s.HParams(i))
				written(sampler, s.HParams(i))
			}
			learnFrom(t, cfg, s, int64(seed))
		}
		half, one := 0.5, 1.0
		cfg.Searcher = expconf.Searcher{Name: expconf.PBT, Metric: "m", PopulationSize: 4, NumRounds: 6, LengthPerRound: &expconf.Length{Units: 1},
			Replace: expconf.PBTReplace{TruncateFraction: &half}, Explore: expconf.PBTExplore{ResampleProbability: &half, PerturbFactor: &one}}
		s, err := New(cfg, int64(seed))
		if err != nil {
			t.Fatal(err)
		}
		train(t, s)
		for i := range s.Len() {
			if cfg.Restricted() { // see explore
				checkTrial(t, cfg, s.HParams(i))
			}
			written("pbt", s.HParams(i))
		}
		cfg.Searcher = expconf.Searcher{Name: expconf.Grid, Metric: "m", Divisor: 4}
		if cfg.ValidateSearch() != nil {
			return
		}
		d, err := newDomain(cfg)
		if err != nil {
			t.Fatal(err)
		}
		p, err := pointsOf(cfg, d)
		if err != nil {
			return // it has too many points
		}
		for i := range min(p.len(), 20) {
			written("grid", p.hparams(i))
		}
	})
}

// learnFrom runs a search that learns from the trials of another one with the same space, all of which lie in it.
func learnFrom(t *testing.T, cfg expconf.Config, earlier *Search, seed int64) {
	t.Helper()
	cfg.Searcher.Sampler, cfg.Searcher.LearnFrom = expconf.TPE, []int{1}
	c, err := NewCollector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var list []PastTrial
	for i := range earlier.Len() {
		x := float64(i * 7 % 5)
		list = append(list, PastTrial{HParams: json.RawMessage(text(earlier.HParams(i))), Results: [Lengths]*float64{Lengths - 1: &x}})
	}
	if remark := c.Add(1, list); strings.Contains(remark, "outside") {
		t.Fatal(remark)
	}
	s, err := New(cfg, seed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Begin(c.Earlier()); err != nil {
		t.Fatal(err)
	}
	train(t, s)
	for i := range s.Len() {
		checkTrial(t, cfg, s.HParams(i))
	}
}

// lines splits a document into lines, so that each can be indented below a section.
func lines(s string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		start := 0
		for i := 0; i <= len(s); i++ {
			if i == len(s) || s[i] == '\n' {
				if !yield(s[start:i]) {
					return
				}
				start = i + 1
			}
		}
	}
}
