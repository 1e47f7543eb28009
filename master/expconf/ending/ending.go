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

// Standard is what a search without stop_when says about further trials.
var standard = StopWhen{Gain: pointer(0.01), Trials: pointer(20), Probability: pointer(0.1)}

func pointer[T any](v T) *T { return &v }

// Or returns the rule, or what an estimate is about without one.
func (s *StopWhen) Or() (gain float64, trials int, probability float64) {
	if s == nil {
		s = &standard
	}
	return optional.Value(s.Gain), optional.Or(s.Trials, *standard.Trials), optional.Or(s.Probability, *standard.Probability)
}

// A Problem is why a section is wrong. At is where, below searcher.
type Problem struct{ At, Message, Hint string }

// Beside is what the sections must fit to.
type Beside struct {
	Searcher string
	Metrics  int // of a search with several
	Trials   int // max_trials
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
