package expconf

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Limits of what a configuration may ask for. They are far above what anybody
// has trained with, and exist so that no configuration can take the memory or
// the time of the master: it keeps the searches of all experiments, and decides
// about all of them in one loop. docs/experiment-config.md lists them.
const (
	// MaxTrials is how many trials a search plans, those of a grid included.
	MaxTrials = 100_000
	// MaxConcurrent is how many trials of one search run at once; it is what no
	// bound (max_concurrent_trials: 0) means.
	MaxConcurrent = 10_000
	// MaxModelled is how many trials the sampler tpe plans: its time grows with
	// the trials and with the hyperparameters that vary.
	MaxModelled = 10_000
	// maxDrawn and maxModelledValues bound the varying hyperparameters of all
	// trials of a search that has to remember what it gave each: pbt, and tpe.
	maxDrawn          = 1_000_000
	maxModelledValues = 250_000
	// maxMarks bounds trials times rungs: each trial may leave a result at each.
	maxMarks = 500_000
	// MaxHParamBytes bounds the hyperparameters of all trials as they are stored.
	MaxHParamBytes = 2 << 30
	// MaxTrialBytes bounds those of one trial: the loop makes many trials at once.
	MaxTrialBytes = 64 << 10

	maxRungs     = 100
	maxBrackets  = 100
	maxDivisor   = 1_000_000
	maxUnits     = 1_000_000_000_000_000 // of a length; a double counts so far without gaps
	maxRounds    = 100_000               // of pbt
	maxVals      = 10_000                // of a categorical hyperparameter
	maxCount     = 1_000_000             // points of an axis
	maxMagnitude = 1e300                 // of a number between which hyperparameters are drawn
	maxSlots     = 1_000_000             // of one trial or task
	maxRestarts  = 1_000_000
	maxSeconds   = 1_000_000_000 // 31 years, of a timeout
	maxPreempt   = 31_536_000    // a year
	maxWeight    = 1_000_000
	maxShm       = 1 << 50 // bytes
	maxWords     = 10_000  // of a command line
	maxWord      = 128 << 10
	maxNames     = 1_000 // entries of a list that names things
)

// within reports a number out of its range.
func (k *checker) within(path string, value, low, high int64) {
	if value < low || value > high {
		k.fail(path, fmt.Sprintf("must be from %d to %d, found %d", low, high, value), "")
	}
}

// finite reports a number that is none, or whose magnitude is out of range.
func (k *checker) finite(path string, value, most float64) {
	if math.IsNaN(value) || math.Abs(value) > most {
		k.fail(path, fmt.Sprintf("must be from %s to %s, found %s", short(-most), short(most), short(value)), "")
	}
}

// short writes a number as users do.
func short(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// words bounds a list of words of a command line, or of names. What the kernel
// takes as one argument of a program is 128 KiB.
func (k *checker) words(path string, list []string) {
	k.atMost(path, len(list), maxWords, "entries")
	for i, word := range list[:min(len(list), maxWords)] {
		if len(word) >= maxWord {
			k.fail(index(path, i), fmt.Sprintf("has %d bytes; fewer than %d are allowed", len(word), maxWord), "put it into a file of the context")
		}
	}
}

// line bounds text that becomes one argument of a program, or a name of a thing
// outside.
func (k *checker) line(path, value string, most int) {
	if len(value) > most {
		k.fail(path, fmt.Sprintf("has %d bytes; at most %d are allowed", len(value), most), "")
	}
}

// stored bounds the complete configuration as it is kept and sent to tasks.
// Merging, aliases and the escapes of JSON can make it far larger than what was
// written.
func (k *checker) stored(config any) {
	b, err := json.Marshal(config)
	switch {
	case err != nil:
		k.fail("", "cannot be stored: "+err.Error(), "")
	case len(b) > maxStored:
		k.fail("", fmt.Sprintf("the complete configuration has %d bytes; at most %d are stored", len(b), maxStored),
			"put data into files of the context")
	}
}

// checkTrial bounds what the hyperparameters of one trial may take, and names the
// largest when there are too many bytes.
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
				path = join(path, name)
			}
		}
	})
	if most <= MaxTrialBytes/2 { // it is no single one
		path = at
	}
	k.fail(path, fmt.Sprintf("the hyperparameters of one trial have up to %d bytes, %d of them in the largest; at most %d are allowed", all, most, MaxTrialBytes),
		"put large constants into files of the context")
}

// largest is how many bytes one trial's values have at most, as JSON.
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

// encodedSize is a value's as JSON; 0 of one that has none, which is a problem of
// its own.
func encodedSize(v any) int {
	b, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	return len(b)
}

// checkVolume bounds what the hyperparameters of all planned trials take: each
// trial has its own, in the database, and for some searchers in memory.
func (c Config) checkVolume(k *checker) {
	trials := c.Searcher.planned(c.Hyperparameters)
	if trials < 1 || trials > MaxTrials {
		return // there is a problem about that already
	}
	const at = "hyperparameters"
	b, err := json.Marshal(c.Hyperparameters)
	if err != nil {
		k.fail(at, "cannot be stored: "+err.Error(), "")
		return
	}
	if volume := trials * float64(len(b)); volume > MaxHParamBytes {
		k.fail(at, fmt.Sprintf("%.0f trials with up to %d bytes of hyperparameters each take %.0f bytes; at most %d are stored",
			trials, len(b), volume, MaxHParamBytes), "plan fewer trials, or move large constants to data")
	}
	var most float64
	switch {
	case c.Searcher.Name == PBT:
		most = maxDrawn
	case c.Searcher.models():
		most = maxModelledValues
	default:
		return
	}
	free := 0.0
	c.Hyperparameters.Walk(func(_ []string, p Hyperparameter) {
		if p.Type != Const {
			free++
		}
	})
	if values := trials * free; values > most {
		k.fail(at, fmt.Sprintf("%.0f trials with %.0f hyperparameters that vary make %.0f values; at most %.0f are allowed",
			trials, free, values, most), "plan fewer trials, or use the random sampler")
	}
}

// models reports whether trials are drawn by the sampler tpe.
func (s Searcher) models() bool {
	switch s.Name {
	case Random, AsyncHalving, AdaptiveASHA:
		return s.Sampler == TPE
	}
	return false
}

// checkSize bounds what a search with many trials remembers of each.
func (s Searcher) checkSize(k *checker, at string) {
	if s.models() && s.MaxTrials > MaxModelled && s.MaxTrials <= MaxTrials {
		k.fail(at+".max_trials", fmt.Sprintf("the sampler tpe plans at most %d trials, found %d", MaxModelled, s.MaxTrials), "use the random sampler")
	}
	rungs, field := s.NumRungs, ".num_rungs"
	if s.Name == AdaptiveASHA {
		rungs, field = s.MaxRungs, ".max_rungs"
		for _, n := range s.BracketRungs {
			if n > rungs {
				rungs, field = n, ".bracket_rungs"
			}
		}
	}
	if rungs > 0 && rungs <= maxRungs && s.MaxTrials <= MaxTrials && rungs*s.MaxTrials > maxMarks {
		k.fail(at+field, fmt.Sprintf("%d trials with %d rungs make %d results; at most %d are allowed",
			s.MaxTrials, rungs, rungs*s.MaxTrials, maxMarks), "plan fewer trials or fewer rungs")
	}
}

// planned is how many trials a searcher plans; 0 where a program decides.
func (s Searcher) planned(space Hyperparameters) float64 {
	switch s.Name {
	case Single:
		return 1
	case Random, AsyncHalving, AdaptiveASHA:
		return float64(s.MaxTrials)
	case Grid:
		return space.points()
	case PBT:
		replaced := math.Floor(first(0, s.Replace.TruncateFraction) * float64(s.PopulationSize))
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
