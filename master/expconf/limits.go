package expconf

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/optional"

	"github.com/detent-ml/detent/master/names"
)

// Limits of a configuration. They are far above the largest known experiments. No configuration
// can exhaust the memory or the time of the master, which keeps the searches of all experiments
// in memory and decides about all of them in one loop. docs/experiment-config.md lists the
// limits.
const (
	// MaxTrials is the largest number of trials of a search, including a grid search.
	MaxTrials = 100_000
	// MaxConcurrent is the largest number of trials of one search that run at once;
	// max_concurrent_trials: 0 means this number.
	MaxConcurrent = 10_000
	// MaxModelled is the largest number of trials with the sampler tpe, whose time grows with
	// the number of trials and of hyperparameters that vary.
	MaxModelled = 10_000
	// MaxProposed is the largest number of trials of a search whose sampler is a program.
	MaxProposed = 10_000
	// maxDrawn and maxModelledValues limit the varying hyperparameters of all trials of a
	// search that keeps the values of each trial in memory: pbt, what a program proposes, and tpe.
	maxDrawn          = 1_000_000
	maxModelledValues = 250_000
	// MaxMarks limits trials times rungs: each trial may have a result at each rung.
	MaxMarks = 500_000
	// MaxHParamBytes limits the stored hyperparameters of all trials.
	MaxHParamBytes = 2 << 30
	// MaxTrialBytes limits those of one trial, because the control loop creates many trials at
	// once.
	MaxTrialBytes = 64 << 10

	maxRungs     = 100
	maxBrackets  = 100
	maxDivisor   = 1_000_000
	maxUnits     = 1_000_000_000_000_000 // of a length; a double counts so far without gaps
	maxRounds    = 100_000               // of pbt
	maxVals      = 10_000                // of a categorical hyperparameter
	maxSteps     = 1 << 53               // values of a range with a step
	maxCount     = 1_000_000             // points of an axis
	maxMagnitude = 1e300                 // of a bound of a hyperparameter
	// A condition names at most maxWhen hyperparameters, with at most maxWhenValues values each.
	maxWhen        = 16
	maxWhenValues  = 100
	maxConstraints = 100       // between hyperparameters
	maxStarts      = 100       // starting points of a search
	maxSources     = 10        // earlier experiments from which a search learns
	maxSlots       = 1_000_000 // of one trial or task
	maxRestarts    = 1_000_000
	maxSeconds     = 1_000_000_000 // 31 years, of a timeout
	maxPreempt     = 31_536_000    // a year
	maxWeight      = 1_000_000
	maxShm         = 1 << 50 // bytes
	maxWords       = 10_000  // of a command line
	maxWord        = 128 << 10
	maxNames       = 1_000 // entries of a list that names things
	// maxHooks is the number of webhooks that an experiment may name: more than 100 of its workspace and 100 of all workspaces
	// cannot exist.
	maxHooks     = 200
	maxHookName  = names.MaxUnique // bytes; no webhook has a longer name
	maxHookNames = 64 << 10        // bytes of all names of webhooks together
)

// within reports a number out of its range.
func (k *checker) within(path string, value, low, high int64) {
	if value < low || value > high {
		if value == 0 && k.pos != nil && !k.pos.Written(path) {
			k.fail(path, "is required", fmt.Sprintf("a number from %d to %d", low, high))
			return
		}
		k.fail(path, fmt.Sprintf("must be from %d to %d, found %d", low, high, value), "")
	}
}

// finite reports a NaN, or a number whose magnitude is out of range.
func (k *checker) finite(path string, value, most float64) {
	if math.IsNaN(value) || math.Abs(value) > most {
		k.fail(path, fmt.Sprintf("must be from %s to %s, found %s", short(-most), short(most), short(value)), "")
	}
}

// short formats a number as users write it.
func short(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// words limits the words of a command line, or a list of names. Linux accepts at most 128 KiB
// as one argument of a program.
func (k *checker) words(path string, list []string) {
	k.atMost(path, len(list), maxWords, "entries")
	for i, word := range list[:min(len(list), maxWords)] {
		if len(word) >= maxWord {
			k.fail(document.Index(path, i), fmt.Sprintf("has %d bytes; fewer than %d are allowed", len(word), maxWord), "move it to a file in the context")
		}
	}
}

// line limits text that becomes one argument of a program, or the name of an external object.
func (k *checker) line(path, value string, most int) {
	if len(value) > most {
		k.fail(path, fmt.Sprintf("has %d bytes; at most %d are allowed", len(value), most), "")
	}
}

// stored limits the size of the complete configuration, which is stored and sent to tasks.
// Merging, aliases and JSON escapes can make it far larger than the documents.
func (k *checker) stored(config any) {
	b, err := json.Marshal(config)
	switch {
	case err != nil:
		k.fail("", "cannot be stored: "+err.Error(), "")
	case len(b) > document.MaxStored:
		k.fail("", fmt.Sprintf("the complete configuration has %d bytes; at most %d are stored", len(b), document.MaxStored),
			"move data to files in the context")
	}
}

// checkTrial limits the hyperparameters of one trial. If there are too many bytes, the message
// names the largest hyperparameter.
func (c Config) checkTrial(k *checker) {
	const at = "hyperparameters"
	all := c.Hyperparameters.largest()
	if all <= MaxTrialBytes {
		return
	}
	path, most := at, 0
	c.Hyperparameters.Walk(func(names []string, p Hyperparameter) {
		if size := p.largest(); size > most {
			path, most = at, size
			for _, name := range names {
				path = document.Join(path, name)
			}
		}
	})
	if most <= MaxTrialBytes/2 { // no single hyperparameter causes it
		path = at
	}
	k.fail(path, fmt.Sprintf("the hyperparameters of one trial have up to %d bytes, %d of them in the largest; at most %d are allowed", all, most, MaxTrialBytes),
		"move large constants to files in the context")
}

// largest is the maximum size of one trial's values as JSON.
func (h Hyperparameters) largest() int {
	size := len("{}")
	for name, p := range h {
		size += encodedSize(name) + len(":,") + p.largest()
	}
	return size
}

func (p Hyperparameter) largest() int {
	const number = 24
	switch p.Type {
	case Group:
		return p.Members.largest()
	case Const:
		return encodedSize(p.Val)
	case Categorical:
		most := 0
		for _, v := range p.Vals {
			most = max(most, encodedSize(v))
		}
		return most
	}
	return number
}

// encodedSize is the size of a value as JSON; 0 if the value cannot be encoded, which another
// check reports.
func encodedSize(v any) int {
	b, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	return len(b)
}

// checkVolume limits the hyperparameters of all planned trials: the database stores those of
// each trial, and some searchers keep them in memory.
func (c Config) checkVolume(k *checker) {
	trials := c.Searcher.planned(c.Hyperparameters)
	if c.Searcher.Name == Grid && c.Restricted() {
		trials = min(trials, MaxTrials) // the grid has fewer points; the search counts them
	}
	if trials < 1 || trials > MaxTrials {
		return // another check has reported the problem
	}
	const at = "hyperparameters"
	b, err := json.Marshal(c.Hyperparameters)
	if err != nil {
		k.fail(at, "cannot be stored: "+err.Error(), "")
		return
	}
	if volume := trials * float64(len(b)); volume > MaxHParamBytes {
		k.fail(at, fmt.Sprintf("%.0f trials with up to %d bytes of hyperparameters each take %.0f bytes; at most %d are stored",
			trials, len(b), volume, MaxHParamBytes), "plan fewer trials, or move large constants to files in the context")
	}
	var most float64
	switch {
	case c.Searcher.Name == PBT, c.Searcher.ByProgram():
		most = maxDrawn
	case c.Searcher.models():
		most = maxModelledValues
	case len(c.Searcher.Constraints) > 0 && c.Searcher.Name != Grid:
		most = maxDrawn
	default:
		return
	}
	free := c.Hyperparameters.varied()
	if values := trials * free; values > most {
		k.fail(at, fmt.Sprintf("%.0f trials with %.0f hyperparameters that vary make %.0f values; at most %.0f are allowed",
			trials, free, values, most), "plan fewer trials, or use the random sampler")
	}
}

// varied counts the hyperparameters that are not constant.
func (h Hyperparameters) varied() (n float64) {
	h.Walk(func(_ []string, p Hyperparameter) {
		if p.Type != Const {
			n++
		}
	})
	return n
}

// models reports whether the sampler tpe draws the hyperparameters of trials.
func (s Searcher) models() bool {
	switch s.Name {
	case Random, AsyncHalving, AdaptiveASHA:
		return s.Sampler == TPE
	}
	return false
}

// checkSize limits the memory of a search with many trials.
func (s Searcher) checkSize(k *checker, at string) {
	k.when(s.models() && s.MaxTrials > MaxModelled && s.MaxTrials <= MaxTrials, at+".max_trials", fmt.Sprintf("the sampler tpe plans at most %d trials, found %d", MaxModelled, s.MaxTrials), "use the random sampler")
	k.when(s.ByProgram() && s.MaxTrials > MaxProposed && s.MaxTrials <= MaxTrials, at+".max_trials", fmt.Sprintf("a program proposes at most %d trials, found %d", MaxProposed, s.MaxTrials), "use the random sampler")
	rungs, field := s.NumRungs, ".num_rungs"
	if s.Name == AdaptiveASHA {
		rungs, field = s.MaxRungs, ".max_rungs"
		for _, n := range s.BracketRungs {
			if n > rungs {
				rungs, field = n, ".bracket_rungs"
			}
		}
	}
	if rungs > 0 && rungs <= maxRungs && s.MaxTrials <= MaxTrials && rungs*s.MaxTrials > MaxMarks {
		k.fail(at+field, fmt.Sprintf("%d trials with %d rungs make %d results; at most %d are allowed",
			s.MaxTrials, rungs, rungs*s.MaxTrials, MaxMarks), "plan fewer trials or fewer rungs")
	}
}

// planned is the number of trials that a searcher plans; 0 for a custom search.
func (s Searcher) planned(space Hyperparameters) float64 {
	switch s.Name {
	case Single:
		return 1
	case Random, AsyncHalving, AdaptiveASHA:
		return float64(s.MaxTrials)
	case Grid:
		return space.points()
	case PBT:
		replaced := math.Floor(optional.Value(s.Replace.TruncateFraction) * float64(s.PopulationSize))
		return float64(s.PopulationSize) + replaced*float64(s.NumRounds-1)
	}
	return 0
}

// points is how many points a grid has.
func (h Hyperparameters) points() float64 {
	points := 1.0
	h.Walk(func(_ []string, p Hyperparameter) { points *= p.points() })
	return points
}
