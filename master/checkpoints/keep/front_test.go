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

// TestConfigurationsThatWereTrainedAgain: the checkpoints of the best configuration are the best of the experiment, and the metric decides among its
// checkpoints and in each trial.
func TestConfigurationsThatWereTrainedAgain(t *testing.T) {
	var all []keep.Checkpoint
	for i, c := range []struct {
		place  int
		metric float64
	}{{0, 0.1}, {2, 0.2}, {1, 0.5}, {1, 0.4}, {0, 0.3}} {
		all = append(all, keep.Checkpoint{UUID: fmt.Sprint("k", i), Trial: 1 + i, Steps: 10, State: keep.Completed, Metric: &c.metric, Place: c.place})
	}
	for best, want := range map[int]string{1: "k3", 2: "k2 k3", 3: "k1 k2 k3", 4: "k0 k1 k2 k3"} {
		e := keep.Experiment{Policy: keep.Policy{ExperimentBest: best, SmallerIsBetter: true}, Checkpoints: all}
		var kept []string
		removed := fmt.Sprint(keep.Decide(e).Remove)
		for _, k := range all {
			if !strings.Contains(removed, k.UUID) {
				kept = append(kept, k.UUID)
			}
		}
		if strings.Join(kept, " ") != want {
			t.Errorf("save_experiment_best: %d keeps %v, want %s", best, kept, want)
		}
	}
}
