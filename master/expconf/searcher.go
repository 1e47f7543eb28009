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

// searchers says which fields each searcher has.
func searchers() union {
	return union{
		noun: "searcher", key: "name",
		common: []string{"metric", "smaller_is_better", "source_trial_id", "source_checkpoint_uuid"},
		members: []member{
			{name: Single, fields: []string{"max_length"}},
			{name: Random, fields: []string{"max_length", "max_trials", "max_concurrent_trials", "sampler"}},
			{name: Grid, fields: []string{"max_length", "max_concurrent_trials"}},
			{name: AdaptiveASHA, fields: []string{"max_length", "max_trials", "bracket_rungs", "divisor", "mode",
				"max_rungs", "max_concurrent_trials", "time_metric", "max_time", "stop_once", "sampler", "progressive"}},
			{name: AsyncHalving, fields: []string{"num_rungs", "max_length", "max_trials", "divisor",
				"max_concurrent_trials", "time_metric", "max_time", "stop_once", "sampler", "progressive"}},
			{name: PBT, fields: []string{"population_size", "num_rounds", "length_per_round",
				"replace_function", "explore_function"}},
			{name: SyncHalving, past: true, fields: []string{"num_rungs", "max_length", "budget", "divisor",
				"train_stragglers"}},
			{name: Adaptive, past: true, fields: []string{"max_length", "budget", "bracket_rungs", "divisor",
				"train_stragglers", "mode", "max_rungs"}},
			{name: AdaptiveSimple, past: true, fields: []string{"max_length", "max_trials", "divisor", "mode",
				"max_rungs"}},
			{name: Custom, fields: []string{"unit", "max_length"}},
		},
	}
}

// RawSearcher is the searcher section as written, with the fields of all
// searchers.
type RawSearcher struct {
	Name                 *string `json:"name"`
	Metric               *string `json:"metric"`
	SmallerIsBetter      *bool   `json:"smaller_is_better"`
	SourceTrialID        *int    `json:"source_trial_id"`
	SourceCheckpointUUID *string `json:"source_checkpoint_uuid"`

	BracketRungs        []int       `json:"bracket_rungs"`
	Budget              *Length     `json:"budget"`
	Divisor             *float64    `json:"divisor"`
	ExploreFunction     *PBTExplore `json:"explore_function"`
	LengthPerRound      *Length     `json:"length_per_round"`
	MaxConcurrentTrials *int        `json:"max_concurrent_trials"`
	MaxLength           *Length     `json:"max_length"`
	MaxRungs            *int        `json:"max_rungs"`
	MaxTime             *int        `json:"max_time"`
	MaxTrials           *int        `json:"max_trials"`
	Mode                *string     `json:"mode"`
	NumRounds           *int        `json:"num_rounds"`
	NumRungs            *int        `json:"num_rungs"`
	PopulationSize      *int        `json:"population_size"`
	Progressive         *bool       `json:"progressive"`
	ReplaceFunction     *PBTReplace `json:"replace_function"`
	Sampler             *string     `json:"sampler"`
	StopOnce            *bool       `json:"stop_once"`
	TimeMetric          *string     `json:"time_metric"`
	TrainStragglers     *bool       `json:"train_stragglers"`
	Unit                *string     `json:"unit"`

	sealed bool
}

// PBTReplace says which part of a population gives way to copies of the best.
type PBTReplace struct {
	TruncateFraction *float64 `json:"truncate_fraction"`
}

// PBTExplore says how the copies of the best differ from their originals.
type PBTExplore struct {
	ResampleProbability *float64 `json:"resample_probability"`
	PerturbFactor       *float64 `json:"perturb_factor"`
}

func (s *RawSearcher) decode(d *decoder, n *node, path string) {
	searchers().decode(d, n, path, reflect.ValueOf(s).Elem())
}

func (s RawSearcher) onto(under any) any {
	merged, seal := ontoUnion(searchers(), reflect.ValueOf(s), reflect.ValueOf(under), s.sealed)
	out := merged.Interface().(RawSearcher)
	out.sealed = s.sealed || seal || under.(RawSearcher).sealed
	return out
}

// Searcher is how the hyperparameter space is explored. Only the fields of the
// searcher named by Name mean something.
type Searcher struct {
	Name                 string
	Metric               string
	SmallerIsBetter      bool
	SourceTrialID        *int
	SourceCheckpointUUID *string

	MaxLength           *Length // nil: the training code decides when it is done
	MaxTrials           int
	MaxConcurrentTrials int // 0: as many as there is room for

	NumRungs     int
	Divisor      float64
	Mode         string
	MaxRungs     int
	BracketRungs []int
	TimeMetric   *string // with MaxTime, the other way to give a length
	MaxTime      *int
	StopOnce     *bool // true: poor trials end at their rung; false: they wait there; nil: they wait if MaxLength is given
	Sampler      string
	Progressive  bool // train to the next rung only while the order of the best still changes

	PopulationSize int
	NumRounds      int
	LengthPerRound *Length
	Replace        PBTReplace
	Explore        PBTExplore

	Budget          *Length
	TrainStragglers bool
	Unit            *string
}

// complete fills in the defaults of the searcher that is named.
func (s *RawSearcher) complete() Searcher {
	if s == nil {
		s = &RawSearcher{}
	}
	return Searcher{
		Name:                 first("", s.Name),
		Metric:               first("", s.Metric),
		SmallerIsBetter:      first(true, s.SmallerIsBetter),
		SourceTrialID:        s.SourceTrialID,
		SourceCheckpointUUID: s.SourceCheckpointUUID,
		MaxLength:            s.MaxLength,
		MaxTrials:            first(0, s.MaxTrials),
		MaxConcurrentTrials:  first(16, s.MaxConcurrentTrials),
		NumRungs:             first(0, s.NumRungs),
		Divisor:              first(4.0, s.Divisor),
		Mode:                 first(Standard, s.Mode),
		MaxRungs:             first(5, s.MaxRungs),
		BracketRungs:         filled(s.BracketRungs),
		TimeMetric:           s.TimeMetric,
		MaxTime:              s.MaxTime,
		StopOnce:             s.StopOnce,
		Sampler:              first(Uniform, s.Sampler),
		Progressive:          first(false, s.Progressive),
		PopulationSize:       first(0, s.PopulationSize),
		NumRounds:            first(0, s.NumRounds),
		LengthPerRound:       s.LengthPerRound,
		Replace:              first(PBTReplace{}, s.ReplaceFunction),
		Explore:              first(PBTExplore{}, s.ExploreFunction),
		Budget:               s.Budget,
		TrainStragglers:      first(true, s.TrainStragglers),
		Unit:                 s.Unit,
	}
}

// MarshalJSON writes the fields of the named searcher and no others.
func (s Searcher) MarshalJSON() ([]byte, error) {
	all := map[string]any{
		"name": s.Name, "metric": s.Metric, "smaller_is_better": s.SmallerIsBetter,
		"source_trial_id": s.SourceTrialID, "source_checkpoint_uuid": s.SourceCheckpointUUID,
		"max_length": s.MaxLength, "max_trials": s.MaxTrials, "max_concurrent_trials": s.MaxConcurrentTrials,
		"num_rungs": s.NumRungs, "divisor": s.Divisor, "mode": s.Mode, "max_rungs": s.MaxRungs,
		"bracket_rungs": s.BracketRungs, "time_metric": s.TimeMetric, "max_time": s.MaxTime,
		"stop_once": s.StopOnce, "sampler": s.Sampler, "progressive": s.Progressive, "population_size": s.PopulationSize, "num_rounds": s.NumRounds,
		"length_per_round": s.LengthPerRound, "replace_function": s.Replace, "explore_function": s.Explore,
		"budget": s.Budget, "train_stragglers": s.TrainStragglers, "unit": s.Unit,
	}
	if s.Name == "" {
		return []byte("null"), nil
	}
	u := searchers()
	m, ok := u.member(s.Name)
	if !ok {
		return nil, fmt.Errorf("there is no searcher %q", s.Name)
	}
	out := map[string]any{"name": s.Name}
	for _, name := range append(u.common, m.fields...) {
		out[name] = all[name]
	}
	return json.Marshal(out)
}

// check validates the section; what depends on hyperparameters is theirs.
func (s Searcher) check(k *checker) {
	const at = "searcher"
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
	k.line(at+".source_checkpoint_uuid", s.SourceCheckpointUUID, 64)
	k.line(at+".unit", s.Unit, 256)
	k.positive(at+".max_length", s.MaxLength)
	k.within(at+".max_concurrent_trials", int64(s.MaxConcurrentTrials), 0, MaxConcurrent)
	switch s.Name {
	case Random:
		k.within(at+".max_trials", int64(s.MaxTrials), 1, MaxTrials)
		k.oneOf(at+".sampler", s.Sampler, Uniform, TPE)
		s.checkSize(k, at)
	case AsyncHalving:
		k.within(at+".max_trials", int64(s.MaxTrials), 1, MaxTrials)
		k.within(at+".num_rungs", int64(s.NumRungs), 1, maxRungs)
		s.checkHalving(k, at)
	case AdaptiveASHA:
		k.within(at+".max_trials", int64(s.MaxTrials), 1, MaxTrials)
		k.within(at+".max_rungs", int64(s.MaxRungs), 1, maxRungs)
		k.oneOf(at+".mode", s.Mode, Aggressive, Standard, Conservative)
		k.atMost(at+".bracket_rungs", len(s.BracketRungs), maxBrackets, "brackets")
		for i, rungs := range s.BracketRungs {
			k.within(index(at+".bracket_rungs", i), int64(rungs), 1, maxRungs)
		}
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
	k.oneOf(at+".sampler", s.Sampler, Uniform, TPE)
	if s.Progressive && !s.Promotes() {
		k.fail(at+".progressive", "needs trials that wait at their rungs", "give max_length, and leave stop_once out")
	}
	if !(s.Divisor > 1 && s.Divisor <= maxDivisor) {
		k.fail(at+".divisor", fmt.Sprintf("must be greater than 1 and at most %d, found %s", maxDivisor, short(s.Divisor)), "")
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
	if s.TimeMetric != nil {
		k.text(at+".time_metric", *s.TimeMetric, 256)
	}
	if s.MaxTime != nil {
		k.atLeast(at+".max_time", *s.MaxTime, 1)
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
	k.within(at+".population_size", int64(s.PopulationSize), 1, MaxConcurrent)
	k.within(at+".num_rounds", int64(s.NumRounds), 1, maxRounds)
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
