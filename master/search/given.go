package search

import (
	"encoding/json"
	"math/rand/v2"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/expconf"
)

// A given is the source of a trial's hyperparameters. A search may have 100,000 trials,
// so hyperparameters that can be computed (from a seed or a grid point's number) are
// computed for each call and not kept in memory.
type given interface {
	hparams(trial int) map[string]any
}

// drawn computes random hyperparameters from the seed and the trial's number.
type drawn struct {
	seed int64
	*domain
}

func (d *drawn) hparams(trial int) map[string]any {
	rng := rngOf(d.seed, trial)
	rng.Uint32() // Add used the first number as the trial's seed
	return d.sample(rng)
}

// layout packs hyperparameters that cannot be computed again (the sampler's, and those of
// copies in pbt): packed keeps the values of axes that are not constant, in the order of free.
type layout struct {
	*domain
	free []int // indexes of the axes that are not constant, or that trials can lack
}

func newLayout(d *domain) *layout {
	l := &layout{domain: d}
	for i, a := range l.axes {
		if a.Type != expconf.Const || len(a.When) > 0 {
			l.free = append(l.free, i)
		}
	}
	return l
}

type packed struct {
	layout *layout
	values []any
}

func (l *layout) pack(hparams map[string]any) packed {
	return packed{layout: l, values: each.Of(l.free, func(f int) any { return l.axes[f].get(hparams) })}
}

func (p packed) hparams(int) map[string]any {
	values := each.Of(p.layout.axes, func(a axis) any { return a.Val })
	for i, f := range p.layout.free {
		values[f] = p.values[i]
	}
	return p.layout.assemble(values)
}

// told has the JSON object that the program of a custom searcher sent as hyperparameters.
type told json.RawMessage

func (t told) hparams(int) map[string]any {
	out := map[string]any{}
	if json.Unmarshal(t, &out) != nil || out == nil {
		return map[string]any{}
	}
	return out
}

func rngOf(seed int64, trial int) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(seed), uint64(trial)))
}
