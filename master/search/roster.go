package search

import (
	"math"
	"math/rand/v2"

	"github.com/detent-ml/detent/master/expconf"
)

// Roster is the list of a search's trials, and where new ones come from.
type Roster struct {
	seed   int64
	space  expconf.Hyperparameters
	trials []*entry
}

type entry struct {
	seed    int64
	hparams map[string]any
	stop    bool
	exited  string
}

func (r *Roster) get(trial int) *entry {
	if trial < 0 || trial >= len(r.trials) {
		return nil
	}
	return r.trials[trial]
}

// Add makes the next trial with hyperparameters drawn from the space, and
// returns its number.
func (r *Roster) Add() int {
	n := len(r.trials)
	rng := rand.New(rand.NewPCG(uint64(r.seed), uint64(n)))
	r.trials = append(r.trials, &entry{seed: int64(rng.Uint32() >> 1), hparams: sample(r.space, rng)})
	return n
}

// Stop says that a trial has run long enough.
func (r *Roster) Stop(trial int) { r.trials[trial].stop = true }

// sample draws one value for each hyperparameter, in the order of their names,
// nested groups included, so that the same seed gives the same values.
func sample(space expconf.Hyperparameters, rng *rand.Rand) map[string]any {
	out := make(map[string]any, len(space))
	for _, name := range space.Names() {
		out[name] = draw(space[name], rng)
	}
	return out
}

func draw(p expconf.Hyperparameter, rng *rand.Rand) any {
	switch p.Type {
	case expconf.Group:
		return sample(p.Members, rng)
	case expconf.Int:
		lo, hi := int64(p.Minval), int64(p.Maxval)
		return lo + rng.Int64N(hi-lo+1)
	case expconf.Double:
		return p.Minval + rng.Float64()*(p.Maxval-p.Minval)
	case expconf.Log:
		return math.Pow(p.Base, p.Minval+rng.Float64()*(p.Maxval-p.Minval))
	case expconf.Categorical:
		return p.Vals[rng.IntN(len(p.Vals))]
	}
	return p.Val
}

// varied reports whether another draw could give other values.
func (r *Roster) varied() bool {
	varied := false
	r.space.Walk(func(_ []string, p expconf.Hyperparameter) {
		switch p.Type {
		case expconf.Const:
		case expconf.Categorical:
			varied = varied || len(p.Vals) > 1
		default:
			varied = varied || p.Maxval > p.Minval
		}
	})
	return varied
}
