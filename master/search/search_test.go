package search

import (
	"encoding/json"
	"fmt"
	"reflect"
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

// TestScripts runs testdata/: a configuration, then events, and what the search
// wants after each. Rewrite with -rewrite.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		var s *Search
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "new":
				var err error
				if s, err = New(configOf(t, d.Input), 7); err != nil {
					return err.Error() + "\n"
				}
			case "validated":
				var trial, steps int
				var metric float64
				d.ScanArgs(t, "trial", &trial)
				d.ScanArgs(t, "steps", &steps)
				v := Validation{Steps: steps}
				if d.HasArg("metric") {
					var text string
					d.ScanArgs(t, "metric", &text)
					if _, err := fmt.Sscan(text, &metric); err != nil {
						t.Fatal(err)
					}
					v.Metric = &metric
				}
				if err := s.Apply(event(s.Seq()+1, Validated, trial, v)); err != nil {
					return err.Error() + "\n"
				}
			case "exited":
				var trial int
				var reason string
				d.ScanArgs(t, "trial", &trial)
				d.ScanArgs(t, "reason", &reason)
				if err := s.Apply(event(s.Seq()+1, Exited, trial, Exit{Reason: reason})); err != nil {
					return err.Error() + "\n"
				}
			default:
				t.Fatalf("unknown command %q", d.Cmd)
			}
			return picture(s)
		})
	})
}

func event(seq int64, kind string, trial int, body any) Event {
	b, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return Event{Seq: seq, Kind: kind, Trial: trial, Body: b}
}

func picture(s *Search) string {
	var b strings.Builder
	for _, w := range s.Wanted() {
		hp, _ := json.Marshal(w.HParams)
		fmt.Fprintf(&b, "trial %d seed %d %s", w.Number, w.Seed, hp)
		if w.Stop {
			b.WriteString(" stop")
		}
		b.WriteByte('\n')
	}
	if trial, metric := s.Best(); metric != nil {
		fmt.Fprintf(&b, "best: trial %d with %g\n", trial, *metric)
	}
	if v, why := s.Verdict(); v != lifecycle.Searching {
		fmt.Fprintf(&b, "search is %s %s\n", v, why)
	}
	fmt.Fprintf(&b, "progress %.2f\n", s.Progress(map[int]float64{0: 0.5}))
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

// TestDrawsAreAFunctionOfTheSeed: the same seed gives the same trials, another
// gives others, and all are within their bounds.
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
		hp := a.Wanted()[0].HParams
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

// TestReplayGivesTheSameState: any history, folded twice or in two parts, ends
// in the same place, and never asks for fewer trials than before.
func TestReplayGivesTheSameState(t *testing.T) {
	cfg := configOf(t, everything)
	reasons := []string{lifecycle.ExitDone, lifecycle.ExitErrored, lifecycle.ExitInvalidHP, lifecycle.ExitCanceled}
	rapid.Check(t, func(r *rapid.T) {
		a, err := New(cfg, 5)
		if err != nil {
			r.Fatal(err)
		}
		var history []Event
		for n := rapid.IntRange(0, 40).Draw(r, "events"); n > 0; n-- {
			trial := rapid.IntRange(0, len(a.Wanted())-1).Draw(r, "trial")
			seq := int64(len(history) + 1)
			var e Event
			if rapid.Bool().Draw(r, "validated") {
				m := rapid.Float64Range(-10, 10).Draw(r, "metric")
				e = event(seq, Validated, trial, Validation{Metric: &m, Steps: int(seq)})
			} else {
				e = event(seq, Exited, trial, Exit{Reason: rapid.SampledFrom(reasons).Draw(r, "reason")})
			}
			before := len(a.Wanted())
			if err := a.Apply(e); err != nil {
				r.Fatal(err)
			}
			if len(a.Wanted()) < before {
				r.Fatal("a trial went away")
			}
			history = append(history, e)
		}
		b, err := New(cfg, 5)
		if err != nil {
			r.Fatal(err)
		}
		for _, e := range history {
			if err := b.Apply(e); err != nil {
				r.Fatal(err)
			}
		}
		if picture(a) != picture(b) {
			r.Fatalf("replayed:\n%s\nfirst:\n%s", picture(b), picture(a))
		}
	})
}

func TestEventsOutOfOrderAreRefused(t *testing.T) {
	s, err := New(configOf(t, everything), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []Event{event(2, Exited, 0, Exit{}), event(1, Exited, 9, Exit{}), {Seq: 2, Kind: "danced", Trial: 0}, {Seq: 3, Kind: Exited, Body: []byte("[")}} {
		if err := s.Apply(e); err == nil {
			t.Errorf("%+v was taken", e)
		}
	}
}

func BenchmarkApply(b *testing.B) {
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
}
