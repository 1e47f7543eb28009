package search

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/lifecycle"
)

func configOf(t testing.TB, yaml string) expconf.Config {
	t.Helper()
	raw, _, err := expconf.Parse("test.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := expconf.Complete(raw, expconf.ClusterDefaults{Name: "x", Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// TestScripts runs the scripts in testdata/scripts. A script has a configuration and then
// events; after each event the output shows what the search newly wants. -rewrite
// rewrites the outputs. Commands:
//
//	new                  the configuration; the seed is 7
//	report               lines "trial at metric": a validation after this length of training
//	exited, suspended    lines "trial reason", "trial"
//	told event=N         operations of a custom search's program, as JSON
//	continued            continue the experiment, with the given configuration if there is one;
//	                     the output shows again what is wanted of all trials that have not ended
//	plan                 the preview of a configuration
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		s := &script{t: t}
		datadriven.RunTest(t, path, s.run)
	})
}

type script struct {
	t     *testing.T
	s     *Search
	said  map[int]string // the last output about each trial
	other string         // the last output about the search
}

func (c *script) run(t *testing.T, d *datadriven.TestData) string {
	c.t = t
	var out strings.Builder
	if d.Cmd == "new" {
		s, err := New(configOf(t, d.Input), 7)
		if err != nil {
			return err.Error() + "\n"
		}
		c.s, c.said, c.other = s, map[int]string{}, ""
		return c.news("")
	}
	if d.Cmd == "plan" {
		return plan(configOf(t, d.Input))
	}
	if d.Cmd == "told" {
		var ops Operations
		if err := json.Unmarshal([]byte(d.Input), &ops.List); err != nil {
			t.Fatal(err)
		}
		if d.HasArg("event") {
			d.ScanArgs(t, "event", &ops.Event)
		}
		return c.apply("", event(c.s.Seq()+1, Told, 0, ops))
	}
	if d.Cmd == "continued" {
		return c.reopenFailed(d.Input)
	}
	for line := range strings.Lines(d.Input) {
		out.WriteString(c.line(d.Cmd, strings.TrimSpace(line)))
	}
	return out.String()
}

// reopenFailed continues the search, and resets the last output about trials that have not ended.
func (c *script) reopenFailed(yaml string) string {
	if err := c.s.Apply(event(c.s.Seq()+1, Continued, 0, c.continuation(yaml))); err != nil {
		return err.Error() + "\n"
	}
	c.said = map[int]string{}
	for _, w := range c.s.Wanted() {
		if w.Ended {
			c.said[w.Number] = wantedOf(w)
		}
	}
	return c.news("")
}

func (c *script) continuation(yaml string) Continuation {
	if strings.TrimSpace(yaml) == "" {
		return Continuation{}
	}
	cfg := configOf(c.t, yaml)
	b, err := cfg.JSON()
	if err != nil {
		c.t.Fatal(err)
	}
	body, err := NewContinuation(b)
	if err != nil {
		c.t.Fatal(err)
	}
	return body
}

func (c *script) line(cmd, line string) string {
	f := strings.Fields(line)
	trial, err := strconv.Atoi(f[0])
	if err != nil {
		c.t.Fatal(err)
	}
	switch cmd {
	case "report":
		v := Validation{Run: 1}
		if v.Steps, err = strconv.Atoi(f[1]); err != nil {
			c.t.Fatal(err)
		}
		for _, word := range f[2:] {
			name, value, _ := strings.Cut(word, "=")
			if value == "" {
				name, value = "metric", word
			}
			number, err := strconv.ParseFloat(value, 64)
			switch {
			case err != nil || math.IsNaN(number) || math.IsInf(number, 0):
				v.Unfit = value
			case name == "time":
				v.Time = &number
			case name == "length":
				v.Length = int64(number)
			default:
				v.Metric = &number
			}
		}
		return c.apply(line, event(c.s.Seq()+1, Validated, trial, v))
	case "exited":
		return c.apply(line, event(c.s.Seq()+1, Exited, trial, Exit{Reason: f[1]}))
	case "suspended":
		return c.apply(line, event(c.s.Seq()+1, Suspended, trial, struct{}{}))
	}
	c.t.Fatalf("unknown command %q", cmd)
	return ""
}

func (c *script) apply(line string, e Event) string {
	if err := c.s.Apply(e); err != nil {
		return err.Error() + "\n"
	}
	return c.news(line)
}

// news returns what has changed since the last output.
func (c *script) news(line string) string {
	var list []string
	for _, w := range c.s.Wanted() {
		if now := wantedOf(w); now != c.said[w.Number] {
			if c.said[w.Number] == "" {
				hp, _ := json.Marshal(c.s.HParams(w.Number))
				now += fmt.Sprintf(" %s", hp)
			}
			list = append(list, fmt.Sprintf("trial %d %s", w.Number, now))
			c.said[w.Number] = wantedOf(w)
		}
	}
	other := ""
	if trial, metric := c.s.Best(); metric != nil {
		other = fmt.Sprintf("best: trial %d with %g", trial, *metric)
	}
	if v, why := c.s.Status(); v != lifecycle.Searching {
		other = strings.TrimSpace(fmt.Sprintf("%s\nsearch is %s %s", other, v, why))
	}
	if other != c.other {
		list = append(list, other)
		c.other = other
	}
	if queue, ok := c.s.Outside(); ok {
		b, _ := json.Marshal(queue)
		list = append(list, "to answer: "+string(b))
	}
	if line != "" {
		if len(list) == 0 {
			list = []string{"nothing new"}
		}
		return fmt.Sprintf("%s → %s\n", line, strings.ReplaceAll(strings.Join(list, "\n"), "\n", "\n    "))
	}
	return strings.Join(append(list, ""), "\n")
}

// wantedOf describes what a search wants of a trial.
func wantedOf(w Trial) string {
	switch {
	case w.Fail != "":
		return "fails: " + w.Fail
	case w.Stop:
		return "stops"
	case w.Hold:
		return "waits"
	}
	words := "runs"
	if w.Target > 0 {
		words += fmt.Sprintf(" to %d", w.Target)
	}
	if w.From != nil {
		words += fmt.Sprintf(" from the checkpoint of trial %d", *w.From)
	}
	return words
}

func plan(cfg expconf.Config) string {
	var b strings.Builder
	total := int64(0)
	for _, s := range Preview(cfg) {
		whole := ""
		if s.Whole {
			whole = ", whole"
		}
		fmt.Fprintf(&b, "%d trials × %d %s%s\n", s.Trials, s.Units, s.Name, whole)
		total += int64(s.Trials) * s.Units
	}
	fmt.Fprintf(&b, "%d in all\n", total)
	return b.String()
}

func event(seq int64, kind string, trial int, body any) Event {
	b, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return Event{Seq: seq, Kind: kind, Trial: trial, Body: b}
}

// describeSearch describes the whole visible state of a search.
func describeSearch(s *Search) string {
	var b strings.Builder
	for _, w := range s.Wanted() {
		hp, _ := json.Marshal(s.HParams(w.Number))
		fmt.Fprintf(&b, "trial %d seed %d %s %s suspended=%t\n", w.Number, w.Seed, hp, wantedOf(w), w.Suspended)
	}
	trial, metric := s.Best()
	v, why := s.Status()
	queue, _ := s.Outside()
	m, _ := json.Marshal(metric)
	q, _ := json.Marshal(queue)
	fmt.Fprintf(&b, "front: %v\n", s.Front())
	fmt.Fprintf(&b, "best: trial %d with %s\n%s %s\nprogress %.2f\n%s", trial, m, v, why, s.Progress(map[int]float64{0: 0.5}), q)
	return b.String()
}

const everything = `
entrypoint: x
searcher: {name: single, metric: loss, max_length: {batches: 10}}
hyperparameters:
  a: 3
  b: {type: int, minval: 1, maxval: 8}
  c: {type: double, minval: -1, maxval: 1}
  d: {type: log, base: 10, minval: -4, maxval: 0}
  e: {type: categorical, vals: [x, y, [1, 2]]}
  nested:
    z: {type: int, minval: 0, maxval: 100}
    y: {type: double, minval: 0, maxval: 1}
`

// TestDrawsAreAFunctionOfTheSeed tests that the same seed gives the same trials, that another
// seed gives others, and that all values are within their bounds.
func TestDrawsAreAFunctionOfTheSeed(t *testing.T) {
	cfg := configOf(t, everything)
	rapid.Check(t, func(r *rapid.T) {
		seed := rapid.Int64Range(0, 1<<31).Draw(r, "seed")
		a, err := New(cfg, seed)
		if err != nil {
			r.Fatal(err)
		}
		b, err := New(cfg, seed)
		if err != nil {
			r.Fatal(err)
		}
		if !reflect.DeepEqual(a.Wanted(), b.Wanted()) {
			r.Fatalf("%v is not %v", a.Wanted(), b.Wanted())
		}
		hp := a.HParams(0)
		if n := hp["b"].(int64); n < 1 || n > 8 {
			r.Fatalf("b is %d", n)
		}
		if f := hp["c"].(float64); f < -1 || f > 1 {
			r.Fatalf("c is %g", f)
		}
		if f := hp["d"].(float64); f < 1e-4 || f > 1 {
			r.Fatalf("d is %g", f)
		}
		if z := hp["nested"].(map[string]any)["z"].(int64); z < 0 || z > 100 {
			r.Fatalf("z is %d", z)
		}
	})
	one, _ := New(cfg, 1)
	two, _ := New(cfg, 2)
	if reflect.DeepEqual(one.Wanted(), two.Wanted()) {
		t.Error("two seeds gave the same trial")
	}
}

func TestEventsOutOfOrderAreRefused(t *testing.T) {
	s, err := New(configOf(t, everything), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []Event{event(2, Exited, 0, Exit{}), event(1, Exited, 9, Exit{}), {Seq: 2, Kind: "danced", Trial: 0}, {Seq: 3, Kind: Exited, Body: []byte("[")}} {
		if err := s.Apply(e); err == nil {
			t.Errorf("%+v was accepted", e)
		}
	}
}

// BenchmarkApply measures Apply of one report: in a search of one trial, and in searches of
// 10,000 live trials with different lengths of training, where it should take less than 20 µs.
func BenchmarkApply(b *testing.B) {
	b.Run("single", func(b *testing.B) {
		s, err := New(configOf(b, everything), 1)
		if err != nil {
			b.Fatal(err)
		}
		m := 1.0
		e := event(1, Validated, 0, Validation{Metric: &m, Steps: 1})
		for b.Loop() {
			e.Seq = s.Seq() + 1
			if err := s.Apply(e); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, searcher := range map[string]string{
		"random":         "name: random, max_concurrent_trials: 0",
		"asha-stopping":  "name: async_halving, num_rungs: 6, max_concurrent_trials: 10000, stop_once: true",
		"asha-promotion": "name: async_halving, num_rungs: 6, max_concurrent_trials: 5000",
		"adaptive":       "name: adaptive_asha, mode: conservative, max_concurrent_trials: 10000",
		"pasha":          "name: async_halving, num_rungs: 6, max_concurrent_trials: 5000, progressive: true",
	} {
		b.Run(name+"-10000", func(b *testing.B) { benchmarkLarge(b, searcher) })
	}
}

// benchmarkLarge applies the events of a search of 10,000 trials repeatedly, and measures the
// time of one event.
func benchmarkLarge(b *testing.B, searcher string) {
	cfg := configOf(b, "searcher: {metric: loss, max_trials: 10000, max_length: {batches: 4096}, "+searcher+"}\n"+
		"hyperparameters: {lr: {type: log, base: 10, minval: -4, maxval: 0}, n: {type: int, minval: 1, maxval: 64}}")
	var history []Event
	s, err := New(cfg, 1)
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	steps := map[int]int{}
	for len(history) < 100_000 {
		trial := rng.IntN(s.Len())
		if w := s.Trial(trial); w.Stop || w.Hold {
			trial = rng.IntN(s.Len())
		}
		steps[trial] = max(1, steps[trial]*2)
		m := rng.Float64()
		e := event(s.Seq()+1, Validated, trial, Validation{Metric: &m, Steps: steps[trial], Run: 1})
		if err := s.Apply(e); err != nil {
			b.Fatal(err)
		}
		history = append(history, e)
	}
	b.ResetTimer()
	n := 0
	for b.Loop() {
		if n%len(history) == 0 {
			b.StopTimer()
			if s, err = New(cfg, 1); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		if err := s.Apply(history[n%len(history)]); err != nil {
			b.Fatal(err)
		}
		n++
	}
}

// BenchmarkPropose measures a proposal of the sampler tpe after 10,000 trials.
func BenchmarkPropose(b *testing.B) {
	cfg := configOf(b, everything)
	m := newModel(plain(cfg.Hyperparameters), 2)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 10_000 {
		m.learn(i, sample(cfg.Hyperparameters, rng), float64(i%4), Result{Metric: rng.Float64()})
	}
	for b.Loop() {
		m.propose(rng)
	}
}
