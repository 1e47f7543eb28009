package search

import (
	"math/rand/v2"

	"github.com/detent-ml/detent/master/expconf"
)

// Roster is the list of a search's trials, and where new ones come from.
type Roster struct {
	seed   int64
	space  expconf.Hyperparameters
	model  *model // nil: hyperparameters are drawn by chance alone
	trials []*entry

	ended, failed, canceled int // trials that ended, and how
	waiting                 int // trials that goOn lets wait
}

type entry struct {
	seed    int64
	hparams map[string]any
	stop    bool
	hold    bool
	left    bool
	fail    string
	target  int64
	from    *int
	exited  string
}

func (r *Roster) get(trial int) *entry {
	if trial < 0 || trial >= len(r.trials) {
		return nil
	}
	return r.trials[trial]
}

// rng is the source of everything that is random about a trial.
func (r *Roster) rng(trial int) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(r.seed), uint64(trial)))
}

// Add makes the next trial with hyperparameters drawn from the space, and
// returns its number.
func (r *Roster) Add() int {
	n := len(r.trials)
	rng := r.rng(n)
	e := &entry{seed: int64(rng.Uint32() >> 1)}
	if r.model != nil {
		e.hparams = r.model.propose(rng)
	} else {
		e.hparams = sample(r.space, rng)
	}
	r.trials = append(r.trials, e)
	return n
}

// AddWith makes the next trial with the given hyperparameters.
func (r *Roster) AddWith(hparams map[string]any) int {
	n := len(r.trials)
	r.trials = append(r.trials, &entry{seed: int64(r.rng(n).Uint32() >> 1), hparams: hparams})
	return n
}

// Stop says that a trial has run long enough.
func (r *Roster) Stop(trial int) { r.trials[trial].stop, r.trials[trial].hold = true, false }

// Hold says that a trial is to wait with its checkpoint, its slots free.
func (r *Roster) Hold(trial int) { r.trials[trial].hold, r.trials[trial].left = true, false }

// Release lets a trial go on, until it has trained that long.
func (r *Roster) Release(trial int, target int64) {
	t := r.trials[trial]
	t.hold, t.left, t.target = false, false, target
}

// Learn tells the model, if there is one, how a trial did at a level of
// training. Results are compared with those of the same level.
func (r *Roster) Learn(trial int, level, metric float64) {
	if r.model != nil {
		r.model.learn(trial, r.trials[trial].hparams, level, metric)
	}
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

// maxReplacements bounds how often invalid hyperparameters are drawn anew, for
// each trial that is wanted: a program that takes none would be asked for ever.
const maxReplacements = 20
