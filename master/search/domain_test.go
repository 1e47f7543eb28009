package search

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/search/choices"
)

// plain is a domain without conditions and constraints.
func plain(space expconf.Hyperparameters) *domain {
	return &domain{space: space, axes: axesOf(space)}
}

// checkTrial tests that a trial has exactly the active hyperparameters, with values of their ranges and
// steps, and that they fulfil the constraints. It shares no code with domain.
func checkTrial(t testing.TB, cfg expconf.Config, hparams map[string]any) {
	t.Helper()
	values := map[string]any{}
	var flatten func(prefix string, group map[string]any, space expconf.Hyperparameters)
	flatten = func(prefix string, group map[string]any, space expconf.Hyperparameters) {
		for name, v := range group {
			if p, known := space[name]; !known {
				t.Fatalf("%v has %s%s, which the space lacks", hparams, prefix, name)
			} else if p.Type == expconf.Group {
				flatten(prefix+name+".", v.(map[string]any), p.Members)
			} else {
				values[prefix+name] = v
			}
		}
	}
	flatten("", hparams, cfg.Hyperparameters)
	cfg.Hyperparameters.Walk(func(names []string, p expconf.Hyperparameter) {
		name := strings.Join(names, ".")
		active := true
		for _, c := range p.When {
			v, had := values[c.Name]
			active = active && had && c.Allows(v)
		}
		v, has := values[name]
		if has != active {
			t.Fatalf("%v: %s is active: %v", hparams, name, active)
		}
		if x, isNumber := expconf.Number(v); has && (p.Type == expconf.Int || p.Type == expconf.Double) {
			slack := 1e-9 * math.Max(math.Abs(p.Minval), math.Abs(p.Maxval))
			if !isNumber || x < p.Minval-slack || x > p.Maxval+slack {
				t.Fatalf("%s is %v", name, v)
			}
			if at := (x - p.Minval) / p.Step; p.Step > 1e-6*slack*1e9 && math.Abs(at-math.Round(at)) > 1e-6 {
				t.Fatalf("%s is %v, between two steps", name, v)
			}
			if _, whole := v.(int64); p.Type == expconf.Int && !whole {
				t.Fatalf("%s is the %T %v", name, v, v)
			}
		}
	})
	for _, c := range cfg.Searcher.Constraints {
		var numbers []float64
		for _, name := range c.Names() {
			if x, ok := expconf.Number(values[name]); ok {
				numbers = append(numbers, x)
			}
		}
		if len(numbers) == len(c.Names()) && !c.Holds(numbers) {
			t.Fatalf("%v does not fulfil %s", hparams, c)
		}
	}
}

const richSpace = `
hyperparameters:
  optimizer: {type: categorical, vals: [adam, sgd, rmsprop]}
  momentum: {type: double, minval: 0, maxval: 0.9, step: 0.1, when: {optimizer: sgd}}
  nesterov: {type: categorical, vals: [true, false], when: {optimizer: [sgd, rmsprop]}}
  damp: {type: double, minval: 0, maxval: 1, count: 2, when: {nesterov: true, optimizer: sgd}}
  fixed: {type: const, val: 7, when: {net.depth: 3}}
  lr_min: {type: double, minval: 0.0001, maxval: 0.1, log: true, count: 3}
  lr_max: {type: double, minval: 0.0001, maxval: 0.1, log: true, count: 3}
  batch: {type: int, minval: 16, maxval: 64, step: 16}
  size: {type: categorical, vals: [1, 2, 4], ordered: true}
  net:
    depth: {type: int, minval: 2, maxval: 3, count: 2}
    width: {type: int, minval: 8, maxval: 512, log: true, count: 2, when: {net: {depth: 3}}}
`

const richConstraints = `constraints: ["lr_min < lr_max", "momentum + damp <= 1.2", "batch * net.width <= 16384 or size == 1"]`

// TestSpacesAreRespected: whatever draws them, trials respect conditions, steps and constraints, and the
// events give the same trials again.
func TestSpacesAreRespected(t *testing.T) {
	for _, searcher := range []string{
		"name: single",
		"name: grid",
		"name: random, max_trials: 200",
		"name: random, max_trials: 200, sampler: tpe, max_concurrent_trials: 4",
		"name: async_halving, max_trials: 150, num_rungs: 3, max_length: 64",
		"name: adaptive_asha, max_trials: 150, max_length: 64",
		"name: pbt, population_size: 20, num_rounds: 20, length_per_round: 1, replace_function: {truncate_fraction: 0.5}, explore_function: {resample_probability: 0.2, perturb_factor: 0.2}",
	} {
		cfg := configOf(t, "entrypoint: e\nsearcher: {metric: m, "+searcher+", "+richConstraints+"}"+richSpace)
		s, err := New(cfg, 7)
		if err != nil {
			t.Fatalf("%s: %v", searcher, err)
		}
		train(t, s)
		again, err := New(cfg, 7)
		if err != nil {
			t.Fatal(err)
		}
		train(t, again)
		seen := map[string]bool{}
		for i := range s.Len() {
			hp := s.HParams(i)
			checkTrial(t, cfg, hp)
			seen[text(hp)] = true
			if other := text(again.HParams(i)); other != text(hp) {
				t.Fatalf("%s: trial %d is %s and then %s", searcher, i, text(hp), other)
			}
		}
		if s.Len() > 1 && len(seen) < s.Len()*9/10 || cfg.Searcher.Name == expconf.Grid && len(seen) != s.Len() {
			t.Errorf("%s: %d trials, of which %d differ", searcher, s.Len(), len(seen))
		}
		if shares := Preview(cfg); cfg.Searcher.Name == expconf.Grid && shares[0].Trials != s.Len() {
			t.Errorf("the preview has %d trials, the grid %d", shares[0].Trials, s.Len())
		}
	}
}

// TestGridsCountWhatIsActive: a grid has no point twice, and multiplies by no inactive hyperparameter.
func TestGridsCountWhatIsActive(t *testing.T) {
	for space, want := range map[string]int{
		"a: {type: categorical, vals: [x, y]}\n  b: {type: int, minval: 1, maxval: 5, count: 5, when: {a: x}}":                                                                6,
		"a: {type: categorical, vals: [x, y]}\n  b: {type: int, minval: 1, maxval: 5, count: 5, when: {c: 2}}\n  c: {type: int, minval: 1, maxval: 3, step: 1, when: {a: y}}": 1 + 1 + 5 + 1,
		"a: {type: int, minval: 1, maxval: 1000, log: true, count: 4}":                                                                                                        4,
		"a: {type: int, minval: 1, maxval: 4, log: true, count: 50}":                                                                                                          4,
		"a: {type: double, minval: 0, maxval: 1, step: 0.25}":                                                                                                                 5,
		"a: {type: double, minval: 0, maxval: 1, step: 0.25, count: 3}":                                                                                                       3,
		"a: {type: int, minval: 0, maxval: 1000000, step: 7, count: 2}":                                                                                                       2,
		"z: {type: categorical, vals: [x, y]}\n  g: {a: {type: categorical, vals: [1, 2, 3], when: {z: x}}}":                                                                  4,
	} {
		cfg := configOf(t, "entrypoint: e\nsearcher: {metric: m, name: grid}\nhyperparameters:\n  "+space+"\n")
		s, err := New(cfg, 7)
		if err != nil {
			t.Fatal(err)
		}
		if n := s.Planned(); n != want {
			t.Errorf("%s: %d points, want %d", space, n, want)
		}
	}
}

// TestEmptySpacesAreFound: a submission says which constraint leaves (almost) nothing, and where it is.
func TestEmptySpacesAreFound(t *testing.T) {
	const space = "\nhyperparameters: {a: {type: double, minval: 0, maxval: 1}, b: {type: double, minval: 0, maxval: 1}, c: {type: int, minval: 1, maxval: 99, count: 99}, d: {type: int, minval: 1, maxval: 99999, count: 99999}, k: 3}\n"
	for searcher, want := range map[string]string{
		`name: random, max_trials: 5, constraints: ["c > 3", "a < b and b < a"]`: `test.yaml:2:75: searcher.constraints[1]: too few combinations of a, b fulfil it: none of 20000 that were drawn; change`,
		`name: random, max_trials: 5, constraints: ["a == b"]`:                   `searcher.constraints[0]: too few combinations of a, b fulfil it: none of 20000 that were drawn; change the constraint, or the ranges of these hyperparameters; for values that must be equal, use one hyperparameter`,
		`name: random, max_trials: 5, constraints: ["a < b", "k > 1", "b < a"]`:  `searcher.constraints[0]: too few combinations of a, b fulfil it, with searcher.constraints[2],: none`,
		`name: pbt, population_size: 2, num_rounds: 2, length_per_round: 1, replace_function: {truncate_fraction: 0.5}, explore_function: {resample_probability: 0.2, perturb_factor: 0.2}, constraints: ["k == 4"]`: `searcher.constraints[0]: too few combinations of k fulfil it: none`,
		`name: random, max_trials: 5, constraints: ["d < 20"]`:                                               `only `,
		`name: random, sampler: random, max_trials: 100000, constraints: ["a < .001 and b + c + d + k > 0"]`: `searcher.constraints: few combinations fulfil them: for 100000 trials the search would draw about `,
		`name: random, max_trials: 5, constraints: ["c == 7"]`:                                               ``,
		`name: random, max_trials: 5, constraints: ["c / 2 < 3 and a * b < .5"]`:                             ``,
	} {
		err := Check(configOf(t, "entrypoint: e\nsearcher: {metric: m, "+searcher+"}"+space))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", searcher, err)
		}
	}
	for grid, want := range map[string]string{
		"{c: {type: int, minval: 1, maxval: 99, count: 99}, d: {type: int, minval: 1, maxval: 99, count: 99}}":                                                                 "",
		"{c: {type: int, minval: 1, maxval: 99, count: 99}, d: {type: int, minval: 200, maxval: 299, count: 99}}":                                                              "searcher.constraints: no point of the grid fulfils the constraints",
		"{c: {type: int, minval: 1, maxval: 999, count: 999}, d: {type: int, minval: -999, maxval: 999, count: 999}}":                                                          "hyperparameters: the grid has more than 100000 points",
		"{c: {type: int, minval: 1, maxval: 9999, count: 9999}, d: {type: int, minval: 1999, maxval: 9999, count: 9}, e: {type: int, minval: 1, maxval: 9999, count: 9999}}":   "the grid has more than 100000 points",
		"{c: {type: int, minval: 1, maxval: 9999, count: 9999}, d: {type: int, minval: 19999, maxval: 29999, count: 9}, a: {type: int, minval: 1, maxval: 9999, count: 9999}}": "the grid is too large to look at each of its points",
	} {
		err := Check(configOf(t, "entrypoint: e\nsearcher: {metric: m, name: grid, constraints: [d < c]}\nhyperparameters: "+grid+"\n"))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", grid, err)
		}
	}
}

// TestConstraintsThatShareHyperparameters: constraints that only a later one joins hold together with it.
func TestConstraintsThatShareHyperparameters(t *testing.T) {
	const space = `
hyperparameters:
  kind: {type: categorical, vals: [x, y]}
  a: {type: int, minval: 1, maxval: 20, count: 4}
  b: {type: int, minval: 1, maxval: 20, count: 4, when: {kind: x}}
  c: {type: int, minval: 1, maxval: 20, count: 4}
  d: {type: int, minval: 1, maxval: 20, count: 4}
`
	for _, constraints := range []string{`["a < b", "b < c"]`, `["a < b", "b < c", "c < d"]`, `["a < b", "c < d", "b < c"]`, `["a < c", "d > a", "c < d", "b > a"]`} {
		for _, searcher := range []string{"name: random, max_trials: 200, max_concurrent_trials: 200", "name: random, max_trials: 40, max_concurrent_trials: 4, sampler: tpe", "name: grid"} {
			cfg := configOf(t, "entrypoint: e\nsearcher: {metric: m, "+searcher+", constraints: "+constraints+"}"+space)
			s, err := New(cfg, 7)
			if err != nil {
				t.Fatalf("%s: %v", constraints, err)
			}
			train(t, s)
			for i := range s.Len() {
				checkTrial(t, cfg, s.HParams(i))
			}
		}
	}
}

// TestLargeSpacesAreRefusedSoon: neither axes with a million values nor many wrong names cost a master much.
func TestLargeSpacesAreRefusedSoon(t *testing.T) {
	grid := "entrypoint: e\nsearcher: {metric: m, name: grid}\nhyperparameters:\n  z: 2\n"
	for i := range 200 {
		grid += fmt.Sprintf("  h%d: {type: double, minval: 0, maxval: 1, count: 1000000, when: {z: 2}}\n", i)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := Check(configOf(t, grid)); err == nil || !strings.Contains(err.Error(), "the grid is too large to look at each of its points") {
		t.Error(err)
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 1<<30 { // in short-lived lists; all axes have 5 GiB
		t.Errorf("%d MiB were used", (after.TotalAlloc-before.TotalAlloc)>>20)
	}

	var names, constraints []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("hyperparameter_%d: 1", i))
	}
	for i := range 40 {
		constraints = append(constraints, fmt.Sprintf(`"hyper_parameter_%d + hyper_parameter_%d < 1"`, 2*i, 2*i+1))
	}
	err := Check(configOf(t, "entrypoint: e\nsearcher: {metric: m, name: random, max_trials: 2, constraints: ["+strings.Join(constraints, ", ")+"]}\nhyperparameters: {"+strings.Join(names, ", ")+"}\n"))
	if text := fmt.Sprint(err); strings.Count(text, "there is no hyperparameter") != 80 || strings.Count(text, "did you mean") != 50 {
		t.Errorf("of 80 unknown names, %d have suggestions: %.300s", strings.Count(text, "did you mean"), text)
	}
}

// TestConstrainedDrawsAreEven: constraints leave the shares of what they allow as they are, also of conditional hyperparameters.
func TestConstrainedDrawsAreEven(t *testing.T) {
	cfg := configOf(t, `
entrypoint: e
searcher: {metric: m, name: random, max_trials: 6000, max_concurrent_trials: 0, constraints: ["a < b", "x >= 3"]}
hyperparameters:
  kind: {type: categorical, vals: [u, v]}
  a: {type: double, minval: 0, maxval: 1, when: {kind: u}}
  b: {type: double, minval: 0, maxval: 1}
  x: {type: int, minval: 1, maxval: 4, log: true}
`)
	s, err := New(cfg, 7)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]float64{}
	for i := range s.Len() {
		hp := s.HParams(i)
		checkTrial(t, cfg, hp)
		counts[hp["kind"].(string)]++
		counts[fmt.Sprint("x", hp["x"])]++
		if hp["kind"] == "u" && hp["b"].(float64) > 0.5 {
			counts["high"]++
		}
	}
	near := func(what string, part, want float64) {
		if math.Abs(part-want) > 0.03 {
			t.Errorf("%s: %.3f, want %.3f", what, part, want)
		}
	}
	// Half of the draws with kind u are valid, and all of the others.
	near("kind u", counts["u"]/6000, 1.0/3)
	near("b > 0.5 where a < b", counts["high"]/counts["u"], 0.75)
	near("x = 3", counts["x3"]/6000, math.Log(4.0/3)/math.Log(5.0/3))
}

// TestTheModelLearnsWhereActive: results of trials without a hyperparameter say nothing about it, so the sampler finds good values
// sooner than in a space where all trials have all hyperparameters.
func TestTheModelLearnsWhereActive(t *testing.T) {
	loss := func(space string) (late float64) {
		const seeds = 8
		for seed := range seeds {
			cfg := configOf(t, "entrypoint: e\nsearcher: {metric: loss, name: random, sampler: tpe, max_trials: 150, max_concurrent_trials: 1}\nhyperparameters: "+space+"\n")
			s, err := New(cfg, int64(seed))
			if err != nil {
				t.Fatal(err)
			}
			for i := range 150 {
				hp := s.HParams(i)
				checkTrial(t, cfg, hp)
				loss := 1.0
				switch hp["kind"] {
				case "u":
					loss = math.Abs(hp["a"].(float64)-0.8) + math.Abs(float64(hp["c"].(int64))-3)/10
				case "v":
					loss = 0.5 + hp["b"].(float64)
				}
				if i >= 100 {
					late += loss / 50 / seeds
				}
				for _, e := range []Event{event(0, Validated, i, Validation{Metric: &loss, Steps: 8}), event(0, Exited, i, Exit{Reason: lifecycle.ExitDone})} {
					e.Seq = s.Seq() + 1
					if err := s.Apply(e); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		return late
	}
	const space = "{kind: {type: categorical, vals: [u, v, w]}, a: {type: double, minval: 0, maxval: 1%s}, b: {type: double, minval: 0, maxval: 1%s}, " +
		"c: {type: categorical, vals: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], ordered: true%s}}"
	with := loss(fmt.Sprintf(space, ", when: {kind: u}", ", when: {kind: v}", ", when: {kind: u}"))
	without := loss(fmt.Sprintf(space, "", "", ""))
	t.Logf("with conditions %.3f, without %.3f", with, without)
	if with > 0.9*without {
		t.Errorf("the loss is %.3f with conditions and %.3f without", with, without)
	}
}

// TestScales: a value of an axis has a position, and the position has the value.
func TestScales(t *testing.T) {
	for _, p := range []expconf.Hyperparameter{
		{Type: expconf.Int, Minval: 1, Maxval: 1024, Even: true},
		{Type: expconf.Int, Minval: 16, Maxval: 1030, Even: true, Step: 16},
		{Type: expconf.Int, Minval: -5, Maxval: 40, Step: 7},
		{Type: expconf.Double, Minval: 0.1, Maxval: 0.75, Step: 0.05},
		{Type: expconf.Double, Minval: 1e-5, Maxval: 10, Even: true},
		{Type: expconf.Double, Minval: 0.5, Maxval: 10, Even: true, Step: 0.5},
		{Type: expconf.Categorical, Vals: []any{"a", "b", "c"}, Ordered: true},
	} {
		a := axis{Hyperparameter: p}
		seen := map[any]bool{}
		for i := range 2001 {
			v := a.value(min(float64(i)/2000, 1-1e-12))
			seen[v] = true
			index := choices.Of(p)
			at := 0
			if index != nil {
				at = index.At(v)
			}
			back := a.value(a.unit(v, at))
			x, isNumber := expconf.Number(v)
			y, _ := expconf.Number(back)
			if isNumber && math.Abs(x-y) > 1e-9*math.Abs(x) || !isNumber && v != back {
				t.Fatalf("%+v: %v becomes %v", p, v, back)
			}
			if isNumber && (x < p.Minval || x > p.Maxval) {
				t.Fatalf("%+v: %v", p, v)
			}
		}
		if n := a.steps(); n > 0 && n < 100 && float64(len(seen)) != n {
			t.Errorf("%+v has %v steps, and %d values were found", p, n, len(seen))
		}
	}
	if v := (axis{Hyperparameter: expconf.Hyperparameter{Type: expconf.Double, Minval: 0, Maxval: 1, Step: 0.1}}).value(0.35); v != 0.3 {
		t.Errorf("a step of 0.1 draws %v", v)
	}
}
