package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/detent-ml/detent/master/expconf"
)

// TestLongChoices: a search over few values of many elements compares none of them; before, each of them took 80 ms.
func TestLongChoices(t *testing.T) {
	var vals []any
	for i := range 3 {
		long := make([]any, 32_000)
		for j := range long {
			long[j] = int64(1)
		}
		long[0] = int64(i)
		vals = append(vals, long)
	}
	space := expconf.Hyperparameters{"a": {Type: expconf.Categorical, Vals: vals}, "b": {Type: expconf.Categorical, Vals: []any{"x", "y"}}}
	m, rng := newModel(plain(space), expconf.SearchRevision), rand.New(rand.NewPCG(1, 2))
	seen := map[string]bool{}
	for trial := range 2_000 {
		hparams, _ := m.propose(rng)
		if trial < 200 {
			m.learn(trial, hparams, 0, Result{Metric: float64(trial % 7)})
		}
		seen[fmt.Sprint(m.point(hparams))] = true
	}
	if len(seen) != 6 || len(m.tried) != 6 {
		t.Errorf("%d points were proposed, and %d noted", len(seen), len(m.tried))
	}
	if at := m.point(map[string]any{"a": slices.Clone(vals[2].([]any)), "b": "y"}); !slices.Equal(at, []float64{2, 1}) {
		t.Errorf("a copy is at %v", at)
	}
}
