// Package keep decides which checkpoints of an experiment are kept and which are removed. It
// is pure: from the checkpoints, their users and the policy it computes a Verdict, which
// the caller carries out.
//
// A checkpoint is kept if the policy's three numbers select it, or if a trial or another
// experiment needs it. A needed checkpoint (Needed) must not be removed by a user either.
package keep

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/expconf/objectives"
	"github.com/detent-ml/detent/master/search/front"
)

// A State is the state of a checkpoint's files.
type State string

// The states.
const (
	Active           State = "ACTIVE" // still being written
	Completed        State = "COMPLETED"
	Error            State = "ERROR"
	Deleted          State = "DELETED"
	PartiallyDeleted State = "PARTIALLY_DELETED"
)

// A Policy has the numbers of checkpoints to keep: the best of the experiment, the best of
// each trial, and the newest of each trial. A checkpoint that one number selects is kept.
type Policy struct {
	ExperimentBest, TrialBest, TrialLatest int
	SmallerIsBetter                        bool
	Objectives                             objectives.List // of a search with several metrics; empty: it has one
}

// A Checkpoint has what the verdict depends on.
type Checkpoint struct {
	UUID         string
	Trial        int
	Steps        int
	Reported     time.Time
	State        State
	Metric       *float64     // the searcher's metric of the validation at its steps; nil: no validation
	Point        *front.Point // of a search with several metrics; nil: its validation lacks one, or there is none
	BeingRemoved bool         // its removal has begun
	Kept         bool         // a folder that the runner keeps, which never counts as an ordinary checkpoint
	Run          int          // the attempt that reported it
	Place        int          // of its configuration among those that the search has trained again, 1 for the best; 0: none
}

// An Experiment with all its checkpoints.
type Experiment struct {
	// Live means that a trial runs, waits, or may be resumed.
	Live        bool
	Policy      Policy
	Checkpoints []Checkpoint
	// Used maps checkpoints to their other users, in words: trials that start from them,
	// versions of models.
	Used map[string]string
}

// A Verdict on an experiment's checkpoints, in the order of its trials.
type Verdict struct {
	Remove []Checkpoint
	Spared map[string]string // checkpoints that the policy would remove, with the reasons why they stay for now
}

// Decide applies the policy.
//
// Only checkpoints with a validation can be among the best. A checkpoint from which a user
// removed some files is kept where a complete one would be, in addition to the complete ones:
// the master does not know whether the remaining files are useful.
func Decide(e Experiment) Verdict {
	kept := e.kept()
	needed := e.Needed()
	v := Verdict{Spared: map[string]string{}}
	for _, k := range e.Checkpoints {
		if k.BeingRemoved || !e.removable(k) || kept[k.UUID] {
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

// Needed returns the checkpoints that nobody may remove, with the reasons.
func (e Experiment) Needed() map[string]string {
	needed := make(map[string]string, len(e.Used))
	maps.Copy(needed, e.Used)
	if !e.Live {
		return needed
	}
	for _, k := range e.Checkpoints {
		if k.State == Active {
			needed[k.UUID] = "it is still being written"
		}
	}
	// A running trial restarts from its newest checkpoint, a waiting trial continues from it,
	// and a search (pbt) may start another trial from the newest checkpoint of an ended one.
	// The same applies to the newest folder that the runner kept.
	for _, list := range e.trials() {
		slices.SortFunc(list, older)
		for _, kept := range []bool{false, true} {
			for _, k := range slices.Backward(list) {
				if k.State == Completed && !k.BeingRemoved && k.Kept == kept {
					needed[k.UUID] = "its trial continues from it"
					break
				}
			}
		}
	}
	return needed
}

// removable reports whether a checkpoint may have files, and no task still writes them.
func (e Experiment) removable(k Checkpoint) bool {
	switch k.State {
	case Completed, PartiallyDeleted:
		return true
	case Error:
		return !e.Live
	}
	return false
}

// kept returns the checkpoints that the policy's numbers select.
func (e Experiment) kept() map[string]bool {
	kept := map[string]bool{}
	all := make([]Checkpoint, 0, len(e.Checkpoints))
	better, validated := e.Policy.better, validated
	if len(e.Policy.Objectives) > 0 {
		better, validated = e.byFront(), ranked
	}
	for _, list := range e.trials() {
		e.Policy.first(e.Policy.TrialBest, validated(list), better, kept)
		for _, folders := range []bool{false, true} { // the newest of each kind
			of := slices.DeleteFunc(slices.Clone(list), func(k Checkpoint) bool { return k.Kept != folders })
			e.Policy.first(e.Policy.TrialLatest, of, func(x, y Checkpoint) int { return older(y, x) }, kept)
		}
		all = append(all, list...)
	}
	e.Policy.first(e.Policy.ExperimentBest, validated(all), func(x, y Checkpoint) int { return cmp.Or(byPlace(x, y), better(x, y)) }, kept)
	return kept
}

// trials returns the checkpoints that exist and are not being removed, by trial.
func (e Experiment) trials() map[int][]Checkpoint {
	byTrial := map[int][]Checkpoint{}
	for _, k := range e.Checkpoints {
		if !k.BeingRemoved && (k.State == Completed || k.State == PartiallyDeleted) {
			byTrial[k.Trial] = append(byTrial[k.Trial], k)
		}
	}
	return byTrial
}

func validated(list []Checkpoint) []Checkpoint {
	return slices.DeleteFunc(slices.Clone(list), func(k Checkpoint) bool { return k.Kept || k.Metric == nil || math.IsNaN(*k.Metric) })
}

// ranked is validated for a search with several metrics.
func ranked(list []Checkpoint) []Checkpoint {
	return slices.DeleteFunc(slices.Clone(list), func(k Checkpoint) bool { return k.Kept || k.Point == nil })
}

// byFront returns the order of an experiment's checkpoints by all its metrics, in which those of the front are first.
func (e Experiment) byFront() func(x, y Checkpoint) int {
	var all []Checkpoint
	for _, list := range e.trials() {
		all = append(all, ranked(list)...)
	}
	slices.SortFunc(all, func(x, y Checkpoint) int { return cmp.Or(older(x, y), cmp.Compare(x.Trial, y.Trial)) })
	points := make([]front.Point, len(all))
	for i, k := range all {
		points[i] = *k.Point
	}
	places := make(map[string]int, len(all))
	for place, i := range front.Sort(points).Order {
		places[all[i].UUID] = place
	}
	return func(x, y Checkpoint) int { return cmp.Compare(places[x.UUID], places[y.UUID]) }
}

// first selects the first n complete checkpoints of a list, and the incomplete ones before the
// last of these.
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

// better orders the best first; of equal ones, the older, which needed less training.
func (p Policy) better(x, y Checkpoint) int {
	c := cmp.Compare(*x.Metric, *y.Metric)
	if !p.SmallerIsBetter {
		c = -c
	}
	return cmp.Or(c, older(x, y))
}

// byPlace orders the best configurations first that the search has trained again, and all others last.
func byPlace(x, y Checkpoint) int {
	if x.Place == 0 || y.Place == 0 {
		return cmp.Compare(y.Place, x.Place)
	}
	return cmp.Compare(x.Place, y.Place)
}

// older orders checkpoints from the oldest to the newest, as restarts of trials do: folders that the runner kept by their
// attempts, because their steps may be fewer after a restart.
func older(x, y Checkpoint) int {
	switch {
	case x.Kept != y.Kept:
		return map[bool]int{true: 1, false: -1}[x.Kept]
	case x.Kept:
		return cmp.Or(cmp.Compare(x.Run, y.Run), x.Reported.Compare(y.Reported), cmp.Compare(x.UUID, y.UUID))
	}
	return cmp.Or(cmp.Compare(x.Steps, y.Steps), x.Reported.Compare(y.Reported), cmp.Compare(x.UUID, y.UUID))
}
