package keep_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/checkpoints/keep"
	"github.com/detent-ml/detent/master/expconf/objectives"
	"github.com/detent-ml/detent/master/search/front"
)

// TestSeveralMetrics: the best checkpoints of an experiment with several metrics are the first on its front, and those of a trial the first of it in the same order.
func TestSeveralMetrics(t *testing.T) {
	point := func(loss, ms float64) *front.Point {
		return &front.Point{Values: []float64{loss, ms}, Violation: max(0, ms-20)}
	}
	all := []keep.Checkpoint{
		{UUID: "small-loss", Trial: 1, Steps: 10, Point: point(0.1, 15)},
		{UUID: "too-slow", Trial: 1, Steps: 20, Point: point(0.01, 30)},
		{UUID: "worse", Trial: 1, Steps: 30, Point: point(0.2, 16)},
		{UUID: "fast", Trial: 2, Steps: 10, Point: point(0.9, 1)},
		{UUID: "between", Trial: 2, Steps: 20, Point: point(0.5, 8)},
		{UUID: "slower", Trial: 3, Steps: 10, Point: point(0, 40)},
		{UUID: "no-result", Trial: 3, Steps: 20},
	}
	for i := range all {
		m := 0.0
		all[i].State, all[i].Metric = keep.Completed, &m // the first metric does not decide
	}
	for _, c := range []struct {
		ofExperiment, ofTrial int
		want                  string
	}{
		{1, 0, "small-loss"},
		{2, 0, "fast small-loss"},
		{3, 0, "between fast small-loss"},
		{5, 0, "between fast small-loss too-slow worse"},
		{0, 1, "fast slower small-loss"},
		{99, 0, "between fast slower small-loss too-slow worse"},
	} {
		var kept []string
		e := keep.Experiment{Policy: keep.Policy{ExperimentBest: c.ofExperiment, TrialBest: c.ofTrial}, Checkpoints: all}
		e.Policy.Objectives = objectives.List{{Name: "loss"}, {Name: "ms"}}
		removed := fmt.Sprint(keep.Decide(e).Remove)
		for _, k := range all {
			if !strings.Contains(removed, k.UUID) {
				kept = append(kept, k.UUID)
			}
		}
		if slices.Sort(kept); strings.Join(kept, " ") != c.want {
			t.Errorf("%+v keeps %v", c, kept)
		}
	}
}
