package keep_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/detent-ml/detent/master/checkpoints/keep"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// made reads checkpoints as "1@10=0.5" (trial, steps, metric), with a mark at the end for what
// is not whole: ~ partly deleted, - deleted, ! failed, + being written, > going. A k before it is a
// kept folder, whose steps are also its attempt.
func made(t *testing.T, text string) []keep.Checkpoint {
	t.Helper()
	var list []keep.Checkpoint
	for i, word := range strings.Fields(text) {
		k := keep.Checkpoint{UUID: word, State: keep.Completed, Reported: start.Add(time.Duration(i) * time.Minute)}
		for mark, state := range map[string]keep.State{"~": keep.PartiallyDeleted, "-": keep.Deleted, "!": keep.Error, "+": keep.Active} {
			if strings.HasSuffix(word, mark) {
				k.State, word = state, strings.TrimSuffix(word, mark)
			}
		}
		word, k.BeingRemoved = strings.CutSuffix(word, ">")
		word, k.Kept = strings.CutPrefix(word, "k")
		place, metric, validated := strings.Cut(word, "=")
		if _, err := fmt.Sscanf(place, "%d@%d", &k.Trial, &k.Steps); err != nil {
			t.Fatalf("%s: %v", word, err)
		}
		if k.Kept {
			k.Run, k.Steps = k.Steps, 100-k.Steps
		}
		if validated {
			m := math.NaN()
			if metric != "nan" {
				if _, err := fmt.Sscan(metric, &m); err != nil {
					t.Fatalf("%s: %v", word, err)
				}
			}
			k.Metric = &m
		}
		list = append(list, k)
	}
	return list
}

func names(list []keep.Checkpoint) string {
	var words []string
	for _, k := range list {
		words = append(words, k.UUID)
	}
	return strings.Join(words, " ")
}

func TestDecide(t *testing.T) {
	two := "1@10=3 1@20=1 1@30=2 2@10=9 2@20=8 2@30=7"
	for _, c := range []struct {
		name         string
		policy       keep.Policy
		live         bool
		used         string
		there, gone  string
		spared       string
		largerBetter bool
	}{
		{name: "Determined's own numbers", policy: keep.Policy{TrialBest: 1, TrialLatest: 1}, there: two, gone: "1@10=3 2@10=9 2@20=8"},
		{name: "nothing is asked for", there: two, gone: two},
		{name: "the best of all", policy: keep.Policy{ExperimentBest: 2}, there: two, gone: "1@10=3 2@10=9 2@20=8 2@30=7"},
		{name: "larger is better", policy: keep.Policy{ExperimentBest: 1, TrialBest: 1}, largerBetter: true, there: two, gone: "1@20=1 1@30=2 2@20=8 2@30=7"},
		{name: "more than there are", policy: keep.Policy{TrialLatest: 9}, there: two},
		{name: "of equals the first", policy: keep.Policy{TrialBest: 1}, there: "1@10=1 1@20=1", gone: "1@20=1"},
		{name: "what was not validated is never the best", policy: keep.Policy{TrialBest: 2, ExperimentBest: 2}, there: "1@10=1 1@20 1@30=nan", gone: "1@20 1@30=nan"},
		{name: "an infinite loss is one", policy: keep.Policy{TrialBest: 1}, there: "1@10=+Inf 1@20", gone: "1@20"},
		{name: "trimmed ones take no place", policy: keep.Policy{TrialBest: 1}, there: "1@10=1~ 1@20=2 1@30=3~ 1@40=4", gone: "1@30=3~ 1@40=4"},
		{name: "nor among the newest", policy: keep.Policy{TrialLatest: 1}, there: "1@10 1@20 1@30~", gone: "1@10"},
		{name: "what has gone counts no more", policy: keep.Policy{TrialLatest: 1}, there: "1@10 1@20 1@30- 1@40>", gone: "1@10"},
		{name: "failed ones go once nobody writes", policy: keep.Policy{TrialLatest: 1}, there: "1@10! 1@20", gone: "1@10!"},
		{name: "but not while somebody may", policy: keep.Policy{TrialLatest: 1}, live: true, there: "1@10! 1@20"},
		{name: "what is being written stays", there: "1@10+ 1@20", gone: "1@20"},
		{name: "a live trial's newest", live: true, there: "1@10=1 1@20=2 2@10=3", gone: "1@10=1", spared: "1@20=2 2@10=3"},
		{name: "the newest that is whole", live: true, there: "1@10 1@20 1@30~", gone: "1@10 1@30~", spared: "1@20"},
		{name: "the newest of each kind", policy: keep.Policy{TrialLatest: 1, TrialBest: 1}, there: "1@10=1 1@20=2 k1@1=0 k1@2=3", gone: "k1@1=0"},
		{name: "kept folders are none of the best", policy: keep.Policy{TrialBest: 1, ExperimentBest: 1}, there: "1@10=5 k1@1=1", gone: "k1@1=1"},
		{name: "a live trial's newest of each kind", live: true, there: "1@10 1@20 k1@1 k1@2 k1@3>", gone: "1@10 k1@1", spared: "1@20 k1@2"},
		{name: "what others use", used: "1@10=1", there: "1@10=1 1@20=2", gone: "1@20=2", spared: "1@10=1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.policy.SmallerIsBetter = !c.largerBetter
			e := keep.Experiment{Live: c.live, Policy: c.policy, Checkpoints: made(t, c.there), Used: map[string]string{}}
			for _, id := range strings.Fields(c.used) {
				e.Used[id] = "it is used"
			}
			v := keep.Decide(e)
			if got := names(v.Remove); got != c.gone {
				t.Errorf("removed are %q, want %q", got, c.gone)
			}
			if got := strings.Join(slices.Sorted(maps.Keys(v.Spared)), " "); got != c.spared {
				t.Errorf("spared are %q, want %q", got, c.spared)
			}
		})
	}
}

// experiments generates random experiments; metrics have few different values, so that some are
// equal.
func experiments() *rapid.Generator[keep.Experiment] {
	return rapid.Custom(func(t *rapid.T) keep.Experiment {
		e := keep.Experiment{Live: rapid.Bool().Draw(t, "live"), Used: map[string]string{}, Policy: keep.Policy{
			ExperimentBest: rapid.IntRange(0, 4).Draw(t, "experiment best"), TrialBest: rapid.IntRange(0, 3).Draw(t, "trial best"),
			TrialLatest: rapid.IntRange(0, 3).Draw(t, "trial latest"), SmallerIsBetter: rapid.Bool().Draw(t, "smaller")}}
		states := []keep.State{keep.Completed, keep.Completed, keep.Completed, keep.Active, keep.Error, keep.Deleted, keep.PartiallyDeleted}
		for i := range rapid.IntRange(0, 24).Draw(t, "checkpoints") {
			k := keep.Checkpoint{UUID: fmt.Sprintf("k%02d", i), Trial: rapid.IntRange(1, 4).Draw(t, "trial"), Steps: rapid.IntRange(0, 6).Draw(t, "steps"),
				Reported: start.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "at")) * time.Second), State: rapid.SampledFrom(states).Draw(t, "state"),
				BeingRemoved: rapid.IntRange(0, 5).Draw(t, "going") == 0}
			if m := rapid.SampledFrom([]float64{0, 1, 2, 3, math.NaN(), math.Inf(1), -99}).Draw(t, "metric"); m != -99 {
				k.Metric = &m
			}
			if rapid.IntRange(0, 5).Draw(t, "used") == 0 {
				e.Used[k.UUID] = "it is used"
			}
			e.Checkpoints = append(e.Checkpoints, k)
		}
		return e
	})
}

// left returns the experiment after a verdict was carried out.
func left(e keep.Experiment, v keep.Verdict) keep.Experiment {
	gone := map[string]bool{}
	for _, k := range v.Remove {
		gone[k.UUID] = true
	}
	after := e
	after.Checkpoints = slices.Clone(e.Checkpoints)
	for i := range after.Checkpoints {
		if gone[after.Checkpoints[i].UUID] {
			after.Checkpoints[i].State = keep.Deleted
		}
	}
	return after
}

func whole(k keep.Checkpoint) bool { return k.State == keep.Completed && !k.BeingRemoved }

// TestNothingNeededGoes tests that, with any policy, used checkpoints stay, and so do those from
// which a live experiment's trials continue.
func TestNothingNeededGoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := experiments().Draw(t, "experiment")
		for _, k := range keep.Decide(e).Remove {
			if e.Used[k.UUID] != "" {
				t.Fatalf("%s is used and goes", k.UUID)
			}
			if k.BeingRemoved || k.State == keep.Active || k.State == keep.Deleted {
				t.Fatalf("%s goes, and is %s, being removed %v", k.UUID, k.State, k.BeingRemoved)
			}
			if !e.Live || !whole(k) {
				continue
			}
			newer := slices.ContainsFunc(e.Checkpoints, func(o keep.Checkpoint) bool {
				return whole(o) && o.Trial == k.Trial && o.UUID != k.UUID && (o.Steps > k.Steps || o.Steps == k.Steps && !o.Reported.Before(k.Reported))
			})
			if !newer {
				t.Fatalf("trial %d of a live experiment would go on from %s, which goes", k.Trial, k.UUID)
			}
		}
	})
}

// TestNumbersAreKept tests that as many of the best and of the newest checkpoints stay as the
// policy says, of each trial and of the experiment, or all if there are fewer.
func TestNumbersAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := experiments().Draw(t, "experiment")
		after := left(e, keep.Decide(e))
		stay := map[string]bool{}
		for _, k := range after.Checkpoints {
			stay[k.UUID] = whole(k)
		}
		hold := func(what string, n int, list []keep.Checkpoint, before func(x, y keep.Checkpoint) bool) {
			for _, k := range list {
				ahead := 0
				for _, o := range list {
					if before(o, k) {
						ahead++
					}
				}
				same := 0
				for _, o := range list {
					if !before(o, k) && !before(k, o) {
						same++
					}
				}
				if ahead+same <= n && !stay[k.UUID] {
					t.Fatalf("%s: %s is among the first %d and goes", what, k.UUID, n)
				}
			}
		}
		best := func(x, y keep.Checkpoint) bool {
			if e.Policy.SmallerIsBetter {
				return *x.Metric < *y.Metric
			}
			return *x.Metric > *y.Metric
		}
		of := func(trial int, validated bool) (list []keep.Checkpoint) {
			for _, k := range e.Checkpoints {
				if whole(k) && (trial == 0 || k.Trial == trial) && (!validated || k.Metric != nil && !math.IsNaN(*k.Metric)) {
					list = append(list, k)
				}
			}
			return list
		}
		hold("experiment", e.Policy.ExperimentBest, of(0, true), best)
		for trial := 1; trial <= 4; trial++ {
			hold("best", e.Policy.TrialBest, of(trial, true), best)
			hold("latest", e.Policy.TrialLatest, of(trial, false), func(x, y keep.Checkpoint) bool { return x.Steps > y.Steps })
		}
	})
}

// TestTheSecondTimeNothing tests that a second decision after the first removes nothing, and that
// the order of the checkpoints does not matter.
func TestTheSecondTimeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := experiments().Draw(t, "experiment")
		v := keep.Decide(e)
		if again := keep.Decide(left(e, v)).Remove; len(again) > 0 {
			t.Fatalf("after %q, %q", names(v.Remove), names(again))
		}
		shuffled := e
		shuffled.Checkpoints = rapid.Permutation(e.Checkpoints).Draw(t, "order")
		if got := names(keep.Decide(shuffled).Remove); got != names(v.Remove) {
			t.Fatalf("in another order %q, not %q", got, names(v.Remove))
		}
	})
}
