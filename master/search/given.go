package search

import (
	"encoding/json"
	"math/rand/v2"

	"github.com/detent-ml/detent/master/expconf"
)

// A given is where the hyperparameters of a trial come from. A search may have
// 100,000 trials, so what follows from a seed or from the number of a point is
// not kept for each of them but made when it is asked for.
type given interface {
	hparams(trial int) map[string]any
}

// drawn are hyperparameters that follow from the seed and the number of a trial.
type drawn struct {
	seed  int64
	space expconf.Hyperparameters
}

func (d *drawn) hparams(trial int) map[string]any {
	rng := rngOf(d.seed, trial)
	rng.Uint32() // the seed of the trial itself
	return sample(d.space, rng)
}

// layout packs hyperparameters that follow from nothing: only what varies is
// kept, in the order of the axes.
type layout struct {
	space expconf.Hyperparameters
	axes  []axis
	free  []int
}

func newLayout(space expconf.Hyperparameters) *layout {
	l := &layout{space: space, axes: axesOf(space)}
	for i, a := range l.axes {
		if a.Type != expconf.Const {
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
	p := packed{layout: l, values: make([]any, len(l.free))}
	for i, f := range l.free {
		p.values[i] = l.axes[f].get(hparams)
	}
	return p
}

func (p packed) hparams(int) map[string]any {
	values := make([]any, len(p.layout.axes))
	for i, a := range p.layout.axes {
		values[i] = a.Val
	}
	for i, f := range p.layout.free {
		values[f] = p.values[i]
	}
	return assemble(p.layout.space, p.layout.axes, values)
}

// told are hyperparameters that a program outside gave, as it wrote them.
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
