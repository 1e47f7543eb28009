package expconf

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/expconf/ending"
	"github.com/detent-ml/detent/master/expconf/objectives"
	"github.com/detent-ml/detent/master/optional"
)

// Names of searchers. Obsolete searchers can be parsed but not run.
const (
	Single       = "single"
	Random       = "random"
	Grid         = "grid"
	AsyncHalving = "async_halving"
	AdaptiveASHA = "adaptive_asha"
	PBT          = "pbt"
	Custom       = "custom" // a user's program controls it

	Adaptive       = "adaptive"
	AdaptiveSimple = "adaptive_simple"
	SyncHalving    = "sync_halving"
)

// SearchRevision is the current revision of the algorithms of searches. A stored configuration
// has the revision with which its search began, so that a later release still reads the events
// of this search as they were meant. A stored configuration without one is of revision 1.
const SearchRevision = 2

// Samplers: how the hyperparameters of the next trial are chosen.
const (
	Uniform = "random"  // drawn uniformly from the space
	TPE     = "tpe"     // tree-structured Parzen estimator: prefers regions with good results
	Program = "program" // a user's program proposes them, over the API
)

// Modes of the adaptive searchers: how early they stop trials.
const (
	Aggressive   = "aggressive"
	Standard     = "standard"
	Conservative = "conservative"
)

// PBTReplace sets the part of a population that copies of the best trials replace.
type PBTReplace struct {
	TruncateFraction *float64 `json:"truncate_fraction"`
}

// PBTExplore sets how the copies of the best trials differ from their originals.
type PBTExplore struct {
	ResampleProbability *float64 `json:"resample_probability"`
	PerturbFactor       *float64 `json:"perturb_factor"`
}

// Searcher selects how the hyperparameter space is searched. Only the fields of the searcher
// that Name selects have an effect.
type Searcher struct {
	written
	Name string `json:"name" union:"searcher" members:"single random grid adaptive_asha async_halving pbt custom" past:"sync_halving adaptive adaptive_simple"`

	Metric               string  `json:"metric"`
	SmallerIsBetter      bool    `json:"smaller_is_better" default:"true"`
	SourceTrialID        *int    `json:"source_trial_id"`
	SourceCheckpointUUID *string `json:"source_checkpoint_uuid"`

	// MaxLength is the length of training of a trial; nil: the training code decides.
	MaxLength           *Length `json:"max_length" of:"single random grid adaptive_asha async_halving custom sync_halving adaptive adaptive_simple"`
	MaxTrials           int     `json:"max_trials" of:"random adaptive_asha async_halving adaptive_simple" check:"1..MaxTrials"`
	MaxConcurrentTrials int     `json:"max_concurrent_trials" of:"random grid adaptive_asha async_halving" default:"16"` // 0: as many as possible

	NumRungs     int     `json:"num_rungs" of:"async_halving sync_halving" check:"1..maxRungs"`
	Divisor      float64 `json:"divisor" of:"adaptive_asha async_halving sync_halving adaptive adaptive_simple" default:"4" check:"over 1, up to maxDivisor"`
	Mode         string  `json:"mode" of:"adaptive_asha adaptive adaptive_simple" default:"standard" check:"one of aggressive standard conservative"`
	MaxRungs     int     `json:"max_rungs" of:"adaptive_asha adaptive adaptive_simple" check:"0..maxRungs"` // 0: by the length of a training
	BracketRungs []int   `json:"bracket_rungs" of:"adaptive_asha adaptive" default:"[]" check:"at most maxBrackets brackets; each 1..maxRungs"`

	// TimeMetric and MaxTime together are the other way to set the length.
	TimeMetric *string `json:"time_metric" of:"adaptive_asha async_halving" check:"text 256"`
	MaxTime    *int    `json:"max_time" of:"adaptive_asha async_halving" check:"at least 1"`
	// StopOnce: true stops poor trials at their rung, false pauses them there; nil: pause if
	// MaxLength is set.
	StopOnce    *bool  `json:"stop_once" of:"adaptive_asha async_halving"`
	Sampler     string `json:"sampler" of:"random adaptive_asha async_halving" check:"one of random tpe program"`
	Progressive bool   `json:"progressive" of:"adaptive_asha async_halving"` // train to the next rung only if the order of the best still changes

	// Constraints are comparisons of hyperparameters that hold in every trial.
	Constraints []Constraint `json:"constraints" of:"single? random? grid? adaptive_asha? async_halving? pbt?" check:"at most maxConstraints constraints"`

	// StartWith has values of hyperparameters for the first trials; the sampler draws what they lack.
	StartWith []map[string]any `json:"start_with" of:"random? adaptive_asha? async_halving? pbt?" check:"at most maxStarts starting points"`

	// LearnFrom has the experiments from whose trials the sampler learns before it has results of its own.
	LearnFrom []int `json:"learn_from" of:"random? adaptive_asha? async_halving?" check:"at most maxSources experiments; each at least 1"`

	// Revision is that of the algorithms with which a search began; see SearchRevision.
	Revision int `json:"revision" of:"random adaptive_asha async_halving" check:"0..SearchRevision"`

	PopulationSize int        `json:"population_size" of:"pbt" check:"1..MaxConcurrent"`
	NumRounds      int        `json:"num_rounds" of:"pbt" check:"1..maxRounds"`
	LengthPerRound *Length    `json:"length_per_round" of:"pbt"`
	Replace        PBTReplace `json:"replace_function" of:"pbt"`
	Explore        PBTExplore `json:"explore_function" of:"pbt"`

	// Metrics are those of a search with several; the first is Metric. Empty: it has one.
	Metrics objectives.List `json:"metrics" of:"random? grid? adaptive_asha? async_halving?"`

	// Budget is what the search may spend; nil: it ends with its trials.
	Budget *Budget `json:"budget" of:"single? random? grid? adaptive_asha? async_halving? pbt? sync_halving adaptive"`

	// StopWhen is when the search creates no further trials; nil: it creates all.
	StopWhen *ending.StopWhen `json:"stop_when" of:"random? adaptive_asha? async_halving?"`

	// Repeat is which configurations the search trains again at its end; nil: none.
	Repeat *ending.Repeat `json:"repeat" of:"random? grid? adaptive_asha? async_halving?"`

	TrainStragglers bool    `json:"train_stragglers" of:"sync_halving adaptive" default:"true"`
	Unit            *string `json:"unit" of:"custom"`
}

// MarshalJSON encodes only the fields of the searcher's type.
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

// lead makes the first of several metrics the one that everybody knows.
func (s *Searcher) lead() {
	first, several := s.Metrics.First()
	if several && !IsSet(s, "metric") {
		s.Metric = first.Name
	}
	if several && !IsSet(s, "smaller_is_better") {
		s.SmallerIsBetter = first.Smaller()
		MarkSet(s, "smaller_is_better")
	}
}

// MostTrials is the largest number of trials of such a search.
func (s Searcher) MostTrials() int {
	if len(s.Metrics) > 0 {
		return objectives.MaxTrials
	}
	return MaxTrials
}

// check validates the section, except for what depends on hyperparameters.
func (s Searcher) check(k *checker, at string) {
	if s.Name == "" {
		k.fail(at+".name", "is required", "single runs one trial; random, grid, adaptive_asha, async_halving and pbt search; custom is controlled by your own program")
		return
	}
	if replacement, gone := s.past(); gone {
		k.fail(at+".name", fmt.Sprintf("the searcher %s has been removed", s.Name), replacement)
		return
	}
	k.when(s.Metric == "", at+".metric", "is required", "name the validation metric that compares trials")
	k.text(at+".metric", s.Metric, 256)
	for _, p := range s.Metrics.Problems(objectives.Beside{Metric: s.Metric, Smaller: s.SmallerIsBetter, Progressive: s.Progressive, Learns: len(s.LearnFrom) > 0,
		Program: s.ByProgram(), Early: s.Revision == 1 && s.Name != Grid, Trials: s.MaxTrials}) { // a grid has no revisions
		k.fail(document.Join(at, p.At), p.Message, p.Hint)
	}
	beside := ending.Beside{Metrics: len(s.Metrics), Trials: s.MaxTrials}
	for _, p := range append(s.StopWhen.Problems(beside), s.Repeat.Problems(beside)...) {
		k.fail(document.Join(at, p.At), p.Message, p.Hint)
	}
	if s.SourceTrialID != nil && *s.SourceTrialID < 1 {
		k.fail(at+".source_trial_id", "must be the number of a trial, found "+fmt.Sprint(*s.SourceTrialID), "")
	}
	k.when(s.SourceTrialID != nil && s.SourceCheckpointUUID != nil, at+".source_checkpoint_uuid", "cannot be given together with source_trial_id", "keep one")
	k.line(at+".source_checkpoint_uuid", optional.Value(s.SourceCheckpointUUID), 64)
	// These limits also apply to a searcher with an unknown name.
	k.line(at+".unit", optional.Value(s.Unit), 256)
	k.positive(at+".max_length", s.MaxLength)
	k.within(at+".max_concurrent_trials", int64(s.MaxConcurrentTrials), 0, MaxConcurrent)
	switch s.Name {
	case Random:
		s.checkSize(k, at)
		s.checkSources(k, at+".learn_from")
	case AsyncHalving, AdaptiveASHA:
		s.checkHalving(k, at)
		s.checkSources(k, at+".learn_from")
	case PBT:
		s.checkPBT(k, at)
	}
}

// past returns the advice for a searcher that can be parsed but not run.
func (s Searcher) past() (advice string, gone bool) {
	switch s.Name {
	case Adaptive, AdaptiveSimple, SyncHalving:
		return "use adaptive_asha", true
	}
	return "", false
}

func (s Searcher) checkHalving(k *checker, at string) {
	s.checkSize(k, at)
	k.when(s.Progressive && !s.Promotes(), at+".progressive", "requires trials that pause at their rungs", "set max_length, and omit stop_once")
	switch {
	case s.TimeMetric == nil && s.MaxTime == nil && s.MaxLength == nil:
		k.fail(at+".max_length", "is required by the "+s.Name+" searcher",
			"set max_length, or time_metric and max_time together")
	case s.TimeMetric != nil && s.MaxTime == nil:
		k.fail(at+".max_time", "is required together with time_metric", "")
	case s.TimeMetric == nil && s.MaxTime != nil:
		k.fail(at+".time_metric", "is required together with max_time", "name the metric that measures max_time")
	}
	k.when(s.TimeMetric != nil && *s.TimeMetric == "", at+".time_metric", "is empty", "")
}

// Promotes reports whether trials pause at their rungs, with a checkpoint and without slots,
// until they are among the best; otherwise the search stops trials for good that are not among
// the best.
func (s Searcher) Promotes() bool {
	if s.StopOnce != nil {
		return !*s.StopOnce
	}
	return s.MaxTime == nil
}

// Steers reports whether the search tells trials how long to train, one length after another;
// otherwise trials train until they end or are stopped.
func (s Searcher) Steers() bool {
	switch s.Name {
	case AsyncHalving, AdaptiveASHA:
		return s.Promotes() && s.MaxTime == nil
	case PBT, Custom:
		return true
	}
	return false
}

// FullLength returns the length of a complete training, if the searcher has one, and its
// measure: the name of a metric, or a unit.
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
