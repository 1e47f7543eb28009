package summary

import (
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/detent-ml/detent/master/metrics/report"
)

// TestReplacedValues: whatever values replace others, the number and the mean are right at once; and where Fold says that the summary is
// exact, it is what the values that are left make.
func TestReplacedValues(t *testing.T) {
	exact, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		var values []int // by step
		s := &Trial{}
		was := map[int]int{}
		fold := func(to *Trial, step, value int, replaces bool) bool {
			r := Report{Run: 1, Group: report.Validation, Steps: &step, Values: map[string]any{"loss": json.Number(fmt.Sprint(value))}}
			if replaces {
				r.Was, r.Newest = map[string]any{"loss": json.Number(fmt.Sprint(was[step]))}, step == len(values)-1
			}
			return to.Fold(r, "loss", true)
		}
		for range rapid.IntRange(1, 12).Draw(t, "reports") {
			value, step := rapid.IntRange(-3, 3).Draw(t, "value"), rapid.IntRange(0, len(values)).Draw(t, "step")
			replaces := step < len(values)
			if replaces {
				was[step], values[step] = values[step], value
			} else {
				values = append(values, value)
			}
			if replaces && was[step] == value { // nothing is replaced
				continue
			}
			is := fold(s, step, value, replaces)
			fresh := &Trial{}
			for i, v := range values {
				fold(fresh, i, v, false)
			}
			got, want := s.Metrics["validation_metrics"]["loss"], fresh.Metrics["validation_metrics"]["loss"]
			if got.Count != want.Count || got.Sum != want.Sum {
				t.Fatalf("%v: %d values with the sum %v, want %d with %v", values, got.Count, got.Sum, want.Count, want.Sum)
			}
			if is && (got.Min != want.Min || got.Max != want.Max || got.Last != want.Last || *s.Best != *fresh.Best || *s.BestMetric != *fresh.BestMetric) {
				t.Fatalf("%v: exactly %+v, want %+v; the best is %v at %+v, want %v at %+v", values, got, want, *s.BestMetric, *s.Best, *fresh.BestMetric, *fresh.Best)
			}
			if all++; is {
				exact++
			} else {
				s = fresh // as the rebuild makes it
			}
		}
	})
	if exact < all/2 {
		t.Errorf("only %d of %d reports left an exact summary", exact, all)
	}
}

// TestReplacedTexts: values that are no numbers, or not finite, are replaced by a rebuild.
func TestReplacedTexts(t *testing.T) {
	for _, c := range []struct{ was, is any }{{"a", "b"}, {json.Number("1"), "b"}, {"a", json.Number("1")}, {"NaN", json.Number("1")}, {nil, json.Number("1")}, {true, false}} {
		s, one := &Trial{}, 1
		s.Fold(Report{Run: 1, Group: report.Training, Steps: &one, Values: map[string]any{"x": c.was}}, "", true)
		exact := s.Fold(Report{Run: 1, Group: report.Training, Steps: &one, Values: map[string]any{"x": c.is}, Was: map[string]any{"x": c.was}, Newest: true}, "", true)
		if n := s.Metrics["avg_metrics"]["x"].Count; exact || n != 1 {
			t.Errorf("%v in place of %v: exact %t, %d values", c.is, c.was, exact, n)
		}
	}
	// What the summary had no room for is not in it, and an unknown metric of a summary with room is a reason to read the reports.
	for reason, want := range map[string]bool{Full: true, "": false} {
		s, one := &Trial{Incomplete: reason, Metrics: map[string]map[string]*Metric{"avg_metrics": {}}}, 1
		values := map[string]any{"x": json.Number("2")}
		if exact := s.Fold(Report{Run: 1, Group: report.Training, Steps: &one, Values: values, Was: values}, "", true); exact != want {
			t.Errorf("a summary that is incomplete because of %q: exact %t", reason, exact)
		}
	}
}

// TestTheNewestValueIsLast: the value of the latest step is the last one, also if an earlier step was folded after it.
func TestTheNewestValueIsLast(t *testing.T) {
	var s Trial
	at := func(step int, value string, was string, newest bool) bool {
		r := Report{Run: 1, Group: "validation", Steps: &step, Values: map[string]any{"loss": json.Number(value)}, Newest: newest}
		if was != "" {
			r.Was = map[string]any{"loss": json.Number(was)}
		}
		return s.Fold(r, "loss", true)
	}
	at(9, "1", "", false)
	at(0, "10", "", false)
	exact := at(9, "0.5", "1", true)
	if m := s.Metrics["validation_metrics"]["loss"]; m.Last != json.Number("0.5") || !exact || m.Count != 2 {
		t.Errorf("exact: %v, and the metric is %+v", exact, m)
	}
}
