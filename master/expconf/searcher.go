package expconf

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// Names of searchers. Those of the past can be read but not run.
const (
	Single       = "single"
	Random       = "random"
	Grid         = "grid"
	AsyncHalving = "async_halving"
	AdaptiveASHA = "adaptive_asha"
	PBT          = "pbt"
	Custom       = "custom" // a program outside drives it

	Adaptive       = "adaptive"
	AdaptiveSimple = "adaptive_simple"
	SyncHalving    = "sync_halving"
)

// Samplers: where the hyperparameters of the next trial come from.
const (
	Uniform = "random" // drawn from the space alone
	TPE     = "tpe"    // where the good results were dense and the others were not
)

// Modes of the adaptive searchers: how eagerly they stop trials.
const (
	Aggressive   = "aggressive"
	Standard     = "standard"
	Conservative = "conservative"
)

// PBTReplace says which part of a population gives way to copies of the best.
type PBTReplace struct {
	TruncateFraction *float64 `json:"truncate_fraction"`
}

// PBTExplore says how the copies of the best differ from their originals.
type PBTExplore struct {
	ResampleProbability *float64 `json:"resample_probability"`
	PerturbFactor       *float64 `json:"perturb_factor"`
}

// Searcher is how the hyperparameter space is explored. Only the fields of the
// searcher named by Name mean something.
type Searcher struct {
	written
	Name string `json:"name" union:"searcher" members:"single random grid adaptive_asha async_halving pbt custom" past:"sync_halving adaptive adaptive_simple"`

	Metric               string  `json:"metric"`
	SmallerIsBetter      bool    `json:"smaller_is_better" default:"true"`
	SourceTrialID        *int    `json:"source_trial_id"`
	SourceCheckpointUUID *string `json:"source_checkpoint_uuid"`

	// MaxLength is how long a trial trains; nil: the training code decides when it is done.
	MaxLength           *Length `json:"max_length" of:"single random grid adaptive_asha async_halving custom sync_halving adaptive adaptive_simple"`
	MaxTrials           int     `json:"max_trials" of:"random adaptive_asha async_halving adaptive_simple" check:"1..MaxTrials"`
	MaxConcurrentTrials int     `json:"max_concurrent_trials" of:"random grid adaptive_asha async_halving" default:"16"` // 0: as many as there is room for

	NumRungs     int     `json:"num_rungs" of:"async_halving sync_halving" check:"1..maxRungs"`
	Divisor      float64 `json:"divisor" of:"adaptive_asha async_halving sync_halving adaptive adaptive_simple" default:"4" check:"over 1, up to maxDivisor"`
	Mode         string  `json:"mode" of:"adaptive_asha adaptive adaptive_simple" default:"standard" check:"one of aggressive standard conservative"`
	MaxRungs     int     `json:"max_rungs" of:"adaptive_asha adaptive adaptive_simple" default:"5" check:"1..maxRungs"`
	BracketRungs []int   `json:"bracket_rungs" of:"adaptive_asha adaptive" default:"[]" check:"at most maxBrackets brackets; each 1..maxRungs"`

	// TimeMetric is, with MaxTime, the other way to give a length.
	TimeMetric *string `json:"time_metric" of:"adaptive_asha async_halving" check:"text 256"`
	MaxTime    *int    `json:"max_time" of:"adaptive_asha async_halving" check:"at least 1"`
	// StopOnce: poor trials end at their rung if true, and wait there if false; nil: they wait if MaxLength is given.
	StopOnce    *bool  `json:"stop_once" of:"adaptive_asha async_halving"`
	Sampler     string `json:"sampler" of:"random adaptive_asha async_halving" default:"random" check:"one of random tpe"`
	Progressive bool   `json:"progressive" of:"adaptive_asha async_halving"` // train to the next rung only while the order of the best still changes

	PopulationSize int        `json:"population_size" of:"pbt" check:"1..MaxConcurrent"`
	NumRounds      int        `json:"num_rounds" of:"pbt" check:"1..maxRounds"`
	LengthPerRound *Length    `json:"length_per_round" of:"pbt"`
	Replace        PBTReplace `json:"replace_function" of:"pbt"`
	Explore        PBTExplore `json:"explore_function" of:"pbt"`

	Budget          *Length `json:"budget" of:"sync_halving adaptive"`
	TrainStragglers bool    `json:"train_stragglers" of:"sync_halving adaptive" default:"true"`
	Unit            *string `json:"unit" of:"custom"`
}

// MarshalJSON writes the fields of the named searcher and no others.
func (s Searcher) MarshalJSON() ([]byte, error) {
	of := sectionOf(reflect.TypeOf(s))
	switch {
	case s.Name == "":
		return []byte("null"), nil
	case !of.union.knows(s.Name):
		return nil, fmt.Errorf("there is no searcher %q", s.Name)
	}
	return json.Marshal(of.stored(reflect.ValueOf(s)))
}

// check validates the section; what depends on hyperparameters is theirs.
func (s Searcher) check(k *checker, at string) {
	if s.Name == "" {
		k.fail(at+".name", "is required", "single runs one trial; random, grid, adaptive_asha, async_halving and pbt search; custom is driven by a program of yours")
		return
	}
	if replacement, gone := s.past(); gone {
		k.fail(at+".name", fmt.Sprintf("the searcher %s has been removed", s.Name), replacement)
		return
	}
	if s.Metric == "" {
		k.fail(at+".metric", "is required", "name the validation metric that compares trials")
	}
	k.text(at+".metric", s.Metric, 256)
	if s.SourceTrialID != nil && *s.SourceTrialID < 1 {
		k.fail(at+".source_trial_id", "must be the number of a trial, found "+fmt.Sprint(*s.SourceTrialID), "")
	}
	if s.SourceTrialID != nil && s.SourceCheckpointUUID != nil {
		k.fail(at+".source_checkpoint_uuid", "cannot be given together with source_trial_id", "keep the one to start from")
	}
	k.line(at+".source_checkpoint_uuid", first("", s.SourceCheckpointUUID), 64)
	// These bounds hold for a searcher of an unknown name as well.
	k.line(at+".unit", first("", s.Unit), 256)
	k.positive(at+".max_length", s.MaxLength)
	k.within(at+".max_concurrent_trials", int64(s.MaxConcurrentTrials), 0, MaxConcurrent)
	switch s.Name {
	case Random:
		s.checkSize(k, at)
	case AsyncHalving, AdaptiveASHA:
		s.checkHalving(k, at)
	case PBT:
		s.checkPBT(k, at)
	}
}

// past is the advice for a searcher that can be read but not run.
func (s Searcher) past() (advice string, gone bool) {
	switch s.Name {
	case Adaptive, AdaptiveSimple, SyncHalving:
		return "use adaptive_asha", true
	}
	return "", false
}

func (s Searcher) checkHalving(k *checker, at string) {
	s.checkSize(k, at)
	if s.Progressive && !s.Promotes() {
		k.fail(at+".progressive", "needs trials that wait at their rungs", "give max_length, and leave stop_once out")
	}
	switch {
	case s.TimeMetric == nil && s.MaxTime == nil && s.MaxLength == nil:
		k.fail(at+".max_length", "is required by the "+s.Name+" searcher",
			"give max_length, or time_metric and max_time together")
	case s.TimeMetric != nil && s.MaxTime == nil:
		k.fail(at+".max_time", "is required together with time_metric", "")
	case s.TimeMetric == nil && s.MaxTime != nil:
		k.fail(at+".time_metric", "is required together with max_time", "name the metric that max_time is measured in")
	}
	if s.TimeMetric != nil && *s.TimeMetric == "" {
		k.fail(at+".time_metric", "is empty", "")
	}
}

// Promotes reports whether trials wait at their rungs, with a checkpoint and
// without slots, until they are found to be among the best; otherwise those that
// are not at that moment are stopped for good.
func (s Searcher) Promotes() bool {
	if s.StopOnce != nil {
		return !*s.StopOnce
	}
	return s.MaxTime == nil
}

// Steers reports whether trials are told how long to train, one length after
// another, instead of training until they are done or stopped.
func (s Searcher) Steers() bool {
	switch s.Name {
	case AsyncHalving, AdaptiveASHA:
		return s.Promotes() && s.MaxTime == nil
	case PBT, Custom:
		return true
	}
	return false
}

// FullLength is the length of a whole training where the searcher has one, and
// what it is measured in: the name of a metric, or of a unit.
func (s Searcher) FullLength() (units int64, measure string) {
	switch {
	case s.MaxTime != nil && s.TimeMetric != nil:
		return int64(*s.MaxTime), *s.TimeMetric
	case s.Name == PBT && s.LengthPerRound != nil:
		return s.LengthPerRound.Units * int64(s.NumRounds), string(s.LengthPerRound.Unit)
	case s.MaxLength != nil:
		return s.MaxLength.Units, string(s.MaxLength.Unit)
	case s.Unit != nil:
		return 0, *s.Unit
	}
	return 0, ""
}

func (s Searcher) checkPBT(k *checker, at string) {
	switch l := s.LengthPerRound; {
	case l == nil:
		k.fail(at+".length_per_round", "is required by the pbt searcher", "")
	case l.Units > 0 && float64(l.Units)*float64(s.NumRounds) > maxUnits:
		k.fail(at+".length_per_round", fmt.Sprintf("%d rounds of %s are longer than %d", s.NumRounds, *l, int64(maxUnits)), "")
	}
	k.positive(at+".length_per_round", s.LengthPerRound)
	if n := s.planned(nil); n > MaxTrials {
		k.fail(at+".num_rounds", fmt.Sprintf("%d rounds make %.0f trials; at most %d are run", s.NumRounds, n, MaxTrials),
			"lower num_rounds, population_size or truncate_fraction")
	}
	k.fraction(at+".replace_function.truncate_fraction", s.Replace.TruncateFraction, 0.5)
	k.fraction(at+".explore_function.resample_probability", s.Explore.ResampleProbability, 1)
	k.fraction(at+".explore_function.perturb_factor", s.Explore.PerturbFactor, 1)
}
