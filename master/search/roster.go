package search

import (
	"math/rand/v2"

	"github.com/detent-ml/detent/master/expconf"
)

// TrialSet is the list of a search's trials, and where new ones come from.
type TrialSet struct {
	seed   int64
	space  expconf.Hyperparameters
	model  *model // nil: hyperparameters are drawn by chance alone
	layout *layout
	chance *drawn // of the space as it is now
	trials []*entry

	ended, failed, canceled int // trials that ended, and how
	waiting                 int // trials that goOn lets wait
}

type entry struct {
	seed      int64
	given     given
	stop      bool
	hold      bool
	suspended bool
	fail      string
	target    int64
	from      *int
	exited    string
}

func (r *TrialSet) get(trial int) *entry {
	if trial < 0 || trial >= len(r.trials) {
		return nil
	}
	return r.trials[trial]
}

// rng is the source of everything that is random about a trial.
func (r *TrialSet) rng(trial int) *rand.Rand { return rngOf(r.seed, trial) }

// byChance gives what is drawn from the space alone.
func (r *TrialSet) byChance() *drawn {
	if r.chance == nil {
		r.chance = &drawn{seed: r.seed, space: r.space}
	}
	return r.chance
}

// pack gives what has to be remembered.
func (r *TrialSet) pack(hparams map[string]any) packed {
	if r.layout == nil {
		r.layout = newLayout(r.space)
	}
	return r.layout.pack(hparams)
}

func (r *TrialSet) hparams(trial int) map[string]any { return r.trials[trial].given.hparams(trial) }

// Add makes the next trial with hyperparameters drawn from the space, and
// returns its number.
func (r *TrialSet) Add() int {
	n := len(r.trials)
	rng := r.rng(n)
	e := &entry{seed: int64(rng.Uint32() >> 1)}
	if r.model != nil {
		e.given = r.pack(r.model.propose(rng))
	} else {
		e.given = r.byChance()
	}
	r.trials = append(r.trials, e)
	return n
}

// AddWith makes the next trial with the given hyperparameters.
func (r *TrialSet) AddWith(hparams given) int {
	n := len(r.trials)
	r.trials = append(r.trials, &entry{seed: int64(r.rng(n).Uint32() >> 1), given: hparams})
	return n
}

// Stop says that a trial has run long enough.
func (r *TrialSet) Stop(trial int) { r.trials[trial].stop, r.trials[trial].hold = true, false }

// Hold says that a trial is to wait with its checkpoint, its slots free.
func (r *TrialSet) Hold(trial int) { r.trials[trial].hold, r.trials[trial].suspended = true, false }

// Release lets a trial go on, until it has trained that long.
func (r *TrialSet) Release(trial int, target int64) {
	t := r.trials[trial]
	t.hold, t.suspended, t.target = false, false, target
}

// Learn tells the model, if there is one, how a trial did at a level of
// training. Results are compared with those of the same level.
func (r *TrialSet) Learn(trial int, level, metric float64) {
	if r.model != nil {
		r.model.learn(trial, r.hparams(trial), level, metric)
	}
}

// varied reports whether another draw could give other values.
func (r *TrialSet) varied() bool {
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

// replaceable reports whether one more trial with invalid hyperparameters is
// replaced, of a search for so many trials.
func (r *TrialSet) replaceable(invalid, trials int) bool {
	return r.varied() && invalid < min(maxReplacements*trials, expconf.MaxTrials)
}

// atOnce is how many trials run at once where the configuration has that bound;
// 0 is none.
func atOnce(bound int) int {
	if bound <= 0 {
		return expconf.MaxConcurrent
	}
	return min(bound, expconf.MaxConcurrent)
}
