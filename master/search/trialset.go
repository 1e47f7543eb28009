package search

import (
	"math/rand/v2"
	"slices"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/search/front"
)

// TrialSet has the trials of a search by their numbers, and creates new ones.
type TrialSet struct {
	seed      int64 // of the experiment
	domain    *domain
	model     *model     // the TPE sampler; nil: hyperparameters are drawn at random
	spending  *spending  // of its budget; nil: it has none
	prospects *prospects // of further trials; nil: the search makes no estimates
	program   *program   // what a program proposes; nil: the search draws itself
	sealed    bool       // only repeats are created any more
	several   bool       // results have several metrics
	layout    *layout    // how hyperparameters are packed; made at the first use
	random    *drawn     // the source of random hyperparameters for the current space; made at the first use
	trials    []*entry

	ended, failed, canceled int // trials: all that have ended, and of these the failed and the canceled
	waiting                 int // trials that reopenFailed lets wait for a free worker
}

// An entry is a trial; Trial documents the fields of the same names.
type entry struct {
	seed      int64
	given     given // the source of its hyperparameters
	stop      bool
	trained   bool
	hold      bool
	suspended bool
	cut       bool // it was stopped because the budget was spent
	waited    bool // with cut: it waited then
	fail      string
	target    int64
	from      *int
	tried     bool   // it has run, and waited or ended
	whole     bool   // it has trained to its end
	exited    string // reason of its exit; "" while it has not exited
}

func (r *TrialSet) get(trial int) *entry {
	if trial < 0 || trial >= len(r.trials) {
		return nil
	}
	return r.trials[trial]
}

// rng returns the random numbers of a trial, always the same for one experiment seed.
func (r *TrialSet) rng(trial int) *rand.Rand { return rngOf(r.seed, trial) }

// atRandom returns the source of hyperparameters that are drawn at random from the space.
func (r *TrialSet) atRandom() *drawn {
	if r.random == nil {
		r.random = &drawn{seed: r.seed, domain: r.domain}
	}
	return r.random
}

// evenly returns the hyperparameters of a trial that are drawn at random.
func (r *TrialSet) evenly(trial int) given {
	if len(r.domain.parts) > 0 { // drawing again would take long
		return r.pack(r.atRandom().hparams(trial))
	}
	return r.atRandom()
}

// pack stores hyperparameters in little memory.
func (r *TrialSet) pack(hparams map[string]any) packed {
	if r.layout == nil {
		r.layout = newLayout(r.domain)
	}
	return r.layout.pack(hparams)
}

func (r *TrialSet) hparams(trial int) map[string]any { return r.trials[trial].given.hparams(trial) }

// Add creates the next trial with hyperparameters from the sampler, and returns
// the trial's number.
func (r *TrialSet) Add() int {
	n := len(r.trials)
	rng := r.rng(n)
	e := &entry{seed: int64(rng.Uint32() >> 1)}
	if n < len(r.domain.starts) {
		hparams := r.domain.start(n, rng)
		e.given = r.pack(hparams)
		if r.model != nil {
			r.model.begin(n, hparams, ofItself)
			r.model.try(hparams)
		}
		r.program.note(n, "")
	} else if r.program != nil {
		e.given = r.program.next(n)
	} else if r.model != nil {
		hparams, from := r.model.propose(rng)
		e.given = r.pack(hparams)
		r.model.begin(n, hparams, from)
	} else {
		e.given = r.evenly(n)
	}
	r.trials = append(r.trials, e)
	r.begin(n, 0)
	return n
}

// AddWith creates the next trial with the given hyperparameters.
func (r *TrialSet) AddWith(hparams given) int {
	n := len(r.trials)
	r.trials = append(r.trials, &entry{seed: int64(r.rng(n).Uint32() >> 1), given: hparams})
	r.begin(n, 0)
	return n
}

// begin says what a trial is going to cost: it trains up to a length; 0 is that of a whole training.
func (r *TrialSet) begin(trial int, aim float64) {
	if p := r.spending; p != nil {
		if aim <= 0 {
			aim = p.full
		}
		p.begin(trial, aim)
	}
}

// leave says that a trial costs nothing any more, until it is released.
func (r *TrialSet) leave(trial int) {
	if r.spending != nil {
		r.spending.leave(trial)
	}
}

// Finish ends a trial that has trained to the end.
func (r *TrialSet) Finish(trial int) {
	r.Stop(trial)
	r.trials[trial].trained = true
	r.prospects.halted(r.trials[trial], true)
}

// Stop ends a trial: it has trained long enough.
func (r *TrialSet) Stop(trial int) {
	r.trials[trial].stop, r.trials[trial].hold = true, false
	r.prospects.halted(r.trials[trial], false)
}

// Hold lets a trial wait with its checkpoint and without slots.
func (r *TrialSet) Hold(trial int) {
	r.trials[trial].hold, r.trials[trial].suspended = true, false
	r.prospects.halted(r.trials[trial], false)
}

// Release lets a trial train to the length target, in the searcher's unit.
func (r *TrialSet) Release(trial int, target int64) {
	t := r.trials[trial]
	t.hold, t.suspended, t.target = false, false, target
	r.begin(trial, float64(target))
}

// Learn reports a trial's result to the sampler, if there is one. level is the length of
// training (0 for a whole training); the sampler compares results of the same level only.
func (r *TrialSet) Learn(trial int, level float64, of Result) {
	if r.model != nil {
		r.model.learn(trial, r.hparams(trial), level, r.counted(of))
	}
}

// counted returns a result as it is compared with others: in a search with several metrics, a trial without a result has the worst.
func (r *TrialSet) counted(of Result) Result {
	if r.several && of.Point == nil {
		p := front.Worst()
		of.Point = &p
	}
	return of
}

// varied reports whether a new draw from the space can return other values.
func (r *TrialSet) varied() bool {
	return slices.ContainsFunc(r.domain.axes, axis.varies)
}

// maxReplacements is how many trials with invalid hyperparameters a search replaces at
// most, for each trial that it wants. Without this limit, a program that rejects all
// hyperparameters would run forever.
const maxReplacements = 20

// replaceable reports whether a search that wants this many trials, and has replaced
// `invalid` of them, may replace one more trial with invalid hyperparameters.
func (r *TrialSet) replaceable(invalid, trials int) bool {
	return r.varied() && invalid < min(maxReplacements*trials, expconf.MaxTrials)
}

// atOnce turns max_concurrent_trials into the number of trials that run at once; 0 means
// no limit of the experiment's own.
func atOnce(bound int) int {
	if bound <= 0 {
		return expconf.MaxConcurrent
	}
	return min(bound, expconf.MaxConcurrent)
}
