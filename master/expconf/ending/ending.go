// Package ending has the sections searcher.stop_when and searcher.repeat of a configuration: when a search creates no further trials, and
// which configurations it trains again at its end. It is pure.
package ending

import (
	"fmt"
	"strconv"

	"github.com/detent-ml/detent/master/optional"
)

// StopWhen is when a search creates no further trials: when `trials` more of them improve the best result by the part `gain` of its absolute
// value, or more, with a probability below `probability`.
type StopWhen struct {
	Gain        *float64 `json:"gain"`
	Trials      *int     `json:"trials" default:"20"`
	Probability *float64 `json:"probability" default:"0.1"`
}

// standard is what a search without stop_when says about further trials.
var standard = StopWhen{Gain: pointer(0.01), Trials: pointer(20), Probability: pointer(0.1)}

func pointer[T any](v T) *T { return &v }

// Or returns the rule, or what an estimate is about without one.
func (s *StopWhen) Or() (gain float64, trials int, probability float64) {
	if s == nil {
		s = &standard
	}
	return optional.Value(s.Gain), optional.Or(s.Trials, *standard.Trials), optional.Or(s.Probability, *standard.Probability)
}

// Repeat is which configurations a search trains again at its end, with other seeds: the `best`, each `times` times.
type Repeat struct {
	Best  *int `json:"best" default:"3"`
	Times *int `json:"times" default:"3"`
}

const (
	standardRepeat = 3
	maxRepeat      = 20
)

// Or returns both numbers; 0 if nothing is trained again.
func (r *Repeat) Or() (best, times int) {
	if r == nil {
		return 0, 0
	}
	return optional.Or(r.Best, standardRepeat), optional.Or(r.Times, standardRepeat)
}

// Trials is how many trials the repeats are.
func (r *Repeat) Trials() int {
	best, times := r.Or()
	return best * times
}

// Problems checks the section.
func (r *Repeat) Problems(b Beside) (list []Problem) {
	if r == nil {
		return nil
	}
	wrong := func(is bool, at, message, hint string) bool {
		if is {
			list = append(list, Problem{"repeat" + at, message, hint})
		}
		return is
	}
	best, times := r.Or()
	wrong(b.Metrics > 0, "", "is not possible with several metrics: no mean decides which result of a front is best", "remove it")
	bad := wrong(best < 1 || best > maxRepeat, ".best", fmt.Sprintf("must be from 1 to %d, found %d", maxRepeat, best), "")
	bad = wrong(times < 1 || times > maxRepeat, ".times", fmt.Sprintf("must be from 1 to %d, found %d", maxRepeat, times), "") || bad
	if n := best * times; !bad && b.Trials > 0 {
		wrong(b.Trials < n+best, "", fmt.Sprintf("trains %d times again, which count among max_trials, and of %d trials that leaves fewer than %d to choose from", n, b.Trials, best),
			fmt.Sprintf("set max_trials to at least %d", n+best))
	}
	return list
}

// A Problem is why a section is wrong. At is where, below searcher.
type Problem struct{ At, Message, Hint string }

// Beside is what the sections must fit to.
type Beside struct {
	Metrics int // of a search with several
	Trials  int // max_trials; 0: it has none
}

const (
	maxGain = 1
	maxMore = 1_000
)

// Problems checks the section.
func (s *StopWhen) Problems(b Beside) (list []Problem) {
	if s == nil {
		return nil
	}
	wrong := func(is bool, at, message, hint string) {
		if is {
			list = append(list, Problem{"stop_when" + at, message, hint})
		}
	}
	wrong(b.Metrics > 0, "", "is not possible with several metrics: a front has no best result that could become better", "remove it")
	wrong(s.Gain == nil, ".gain", "is required", "write the part of the best result that counts as a gain, such as 0.01 for 1 %")
	gain, trials, probability := s.Or()
	wrong(!(gain >= 0 && gain <= maxGain), ".gain", "must be from 0 to 1, found "+short(gain), "write 0.01 for 1 % of the best result")
	wrong(trials < 1 || trials > maxMore, ".trials", fmt.Sprintf("must be from 1 to %d, found %d", maxMore, trials), "")
	wrong(!(probability > 0 && probability < 1), ".probability", "must be above 0 and below 1, found "+short(probability), "write 0.1 for 10 %")
	return list
}

func short(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }
