// Package keep says which checkpoints of an experiment are kept and which are
// removed. It is pure: what is there, what uses it and what the policy asks for
// come in, a verdict goes out. Whoever asks carries it out.
//
// Two things keep a checkpoint: the policy's three numbers, and need. What
// somebody needs stays, whatever the numbers say and whoever asks; Needed says so,
// for removals by hand as well.
package keep

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// A State is that of a checkpoint's files.
type State string

// The states.
const (
	Active           State = "ACTIVE" // still being written
	Completed        State = "COMPLETED"
	Error            State = "ERROR"
	Deleted          State = "DELETED"
	PartiallyDeleted State = "PARTIALLY_DELETED"
)

// A Policy says how many checkpoints are kept: the best of the experiment, the
// best of each trial, the newest of each trial. What one number keeps is kept.
type Policy struct {
	ExperimentBest, TrialBest, TrialLatest int
	SmallerIsBetter                        bool
}

// A Checkpoint as the verdict needs it.
type Checkpoint struct {
	UUID     string
	Trial    int
	Steps    int
	Reported time.Time
	State    State
	Metric   *float64 // the searcher's, of the validation at its steps; nil where there was none
	Going    bool     // its removal has begun
}

// An Experiment with all its checkpoints.
type Experiment struct {
	// Live: a trial of it runs, waits or may be called again.
	Live        bool
	Policy      Policy
	Checkpoints []Checkpoint
	// Used says of checkpoints who else needs them, in words: trials that start
	// from them, versions of models.
	Used map[string]string
}

// A Verdict on an experiment's checkpoints, in the order of its trials.
type Verdict struct {
	Remove []Checkpoint
	Spared map[string]string // the policy has no use for them, but these reasons keep them for now
}

// Decide applies the policy.
//
// Only what was validated can be among the best. A checkpoint of which files were
// removed by hand is kept where a whole one would be, but takes no whole one's
// place: nobody knows what it is still good for.
func Decide(e Experiment) Verdict {
	kept := e.kept()
	needed := e.Needed()
	v := Verdict{Spared: map[string]string{}}
	for _, k := range e.Checkpoints {
		if k.Going || !e.removable(k) || kept[k.UUID] {
			continue
		}
		if why, ok := needed[k.UUID]; ok {
			v.Spared[k.UUID] = why
			continue
		}
		v.Remove = append(v.Remove, k)
	}
	slices.SortStableFunc(v.Remove, func(x, y Checkpoint) int {
		return cmp.Or(cmp.Compare(x.Trial, y.Trial), older(x, y))
	})
	return v
}

// Needed says which checkpoints must stay whatever anybody wants, and why.
func (e Experiment) Needed() map[string]string {
	needed := make(map[string]string, len(e.Used))
	for id, why := range e.Used {
		needed[id] = why
	}
	if !e.Live {
		return needed
	}
	for _, k := range e.Checkpoints {
		if k.State == Active {
			needed[k.UUID] = "it is still being written"
		}
	}
	// A trial that runs restarts from its newest, one that waits goes on from it, and
	// a search may start another trial from that of one that is over.
	for _, list := range e.trials() {
		slices.SortFunc(list, older)
		for _, k := range slices.Backward(list) {
			if k.State == Completed && !k.Going {
				needed[k.UUID] = "its trial goes on from it"
				break
			}
		}
	}
	return needed
}

// removable says whether there may be files that nobody writes any more.
func (e Experiment) removable(k Checkpoint) bool {
	switch k.State {
	case Completed, PartiallyDeleted:
		return true
	case Error:
		return !e.Live
	}
	return false
}

// kept are the checkpoints that the policy's numbers keep.
func (e Experiment) kept() map[string]bool {
	kept := map[string]bool{}
	all := make([]Checkpoint, 0, len(e.Checkpoints))
	for _, list := range e.trials() {
		e.Policy.first(e.Policy.TrialBest, validated(list), e.Policy.better, kept)
		e.Policy.first(e.Policy.TrialLatest, list, func(x, y Checkpoint) int { return older(y, x) }, kept)
		all = append(all, list...)
	}
	e.Policy.first(e.Policy.ExperimentBest, validated(all), e.Policy.better, kept)
	return kept
}

// trials are the checkpoints that are there and stay, by trial.
func (e Experiment) trials() map[int][]Checkpoint {
	byTrial := map[int][]Checkpoint{}
	for _, k := range e.Checkpoints {
		if !k.Going && (k.State == Completed || k.State == PartiallyDeleted) {
			byTrial[k.Trial] = append(byTrial[k.Trial], k)
		}
	}
	return byTrial
}

func validated(list []Checkpoint) []Checkpoint {
	return slices.DeleteFunc(slices.Clone(list), func(k Checkpoint) bool { return k.Metric == nil || math.IsNaN(*k.Metric) })
}

// first keeps the first n that are whole, and the others before the last of them.
func (p Policy) first(n int, list []Checkpoint, order func(x, y Checkpoint) int, kept map[string]bool) {
	if n <= 0 {
		return
	}
	list = slices.Clone(list)
	slices.SortFunc(list, order)
	for _, k := range list {
		kept[k.UUID] = true
		if k.State == Completed {
			if n--; n == 0 {
				return
			}
		}
	}
}

// better puts the best first; of equals the older one, which needed less.
func (p Policy) better(x, y Checkpoint) int {
	c := cmp.Compare(*x.Metric, *y.Metric)
	if !p.SmallerIsBetter {
		c = -c
	}
	return cmp.Or(c, older(x, y))
}

// older puts what came first first, in the order in which trials restart.
func older(x, y Checkpoint) int {
	return cmp.Or(cmp.Compare(x.Steps, y.Steps), x.Reported.Compare(y.Reported), cmp.Compare(x.UUID, y.UUID))
}
