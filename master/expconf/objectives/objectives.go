// Package objectives is the list searcher.metrics of a configuration: what a search with several metrics wants of its trials. It is pure.
//
// Each metric is an objective, unless it says objective: false, and may have bounds. The first is what everybody knows who knows one metric only: it is
// searcher.metric of the complete configuration. A report of a trial counts only as a whole: with all metrics, each a finite number.
package objectives

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/optional"
)

// MaxMetrics is how many metrics a search has at most.
const MaxMetrics = 4

// MaxTrials is how many trials a search with several metrics has at most: at each result it puts all trials of a rung into a new order.
const MaxTrials = 1_000

// maxBound is the largest number of a bound, so that the distance from it is finite.
const maxBound = 1e300

// Metric is an entry of the list.
type Metric struct {
	Name            string   `json:"name" check:"required; text 256"`
	SmallerIsBetter *bool    `json:"smaller_is_better" default:"true"`
	AtMost          *float64 `json:"at_most,omitempty"`
	AtLeast         *float64 `json:"at_least,omitempty"`
	Objective       *bool    `json:"objective" default:"true"` // false: only its bounds count
}

// Smaller reports whether a smaller value is better.
func (m Metric) Smaller() bool { return optional.Or(m.SmallerIsBetter, true) }

// Wanted reports whether the metric is an objective.
func (m Metric) Wanted() bool { return optional.Or(m.Objective, true) }

// Bounds says the bounds for users: "at most 20"; "" if there are none.
func (m Metric) Bounds() string {
	var words []string
	if m.AtLeast != nil {
		words = append(words, "at least "+strconv.FormatFloat(*m.AtLeast, 'g', 6, 64))
	}
	if m.AtMost != nil {
		words = append(words, "at most "+strconv.FormatFloat(*m.AtMost, 'g', 6, 64))
	}
	return strings.Join(words, ", ")
}

// violation is by how much a value breaks the bounds, as a part of the bound.
func (m Metric) violation(v float64) float64 {
	over := 0.0
	if m.AtMost != nil {
		over = max(over, beyond(v, *m.AtMost))
	}
	if m.AtLeast != nil {
		over = max(over, beyond(-v, -*m.AtLeast))
	}
	return over
}

// beyond is how far a value is above a bound, as a part of the bound; of the bound 0, as a number.
func beyond(v, bound float64) float64 {
	if v <= bound {
		return 0
	}
	if bound == 0 {
		return v
	}
	return max(v/math.Abs(bound)-bound/math.Abs(bound), math.SmallestNonzeroFloat64)
}

// List is the list; an empty one means that the search has one metric, searcher.metric.
type List []Metric

// First returns the first metric, and whether there is one.
func (l List) First() (Metric, bool) {
	if len(l) == 0 {
		return Metric{}, false
	}
	return l[0], true
}

// Bounded reports whether a metric has bounds.
func (l List) Bounded() bool {
	for _, m := range l {
		if m.Bounds() != "" {
			return true
		}
	}
	return false
}

// Judge returns the values of the objectives, of which smaller is better, and by how much the bounds are broken, of finite values, one for each metric.
func (l List) Judge(values []float64) (wanted []float64, violation float64) {
	for i, m := range l {
		violation += m.violation(values[i])
		switch {
		case !m.Wanted():
		case m.Smaller():
			wanted = append(wanted, values[i])
		default:
			wanted = append(wanted, -values[i])
		}
	}
	return wanted, violation
}

// Read returns the value of each metric of stored ones; false if one is missing or no finite number.
func (l List) Read(values map[string]json.RawMessage) ([]float64, bool) {
	list := make([]float64, len(l))
	for i, m := range l {
		v, err := strconv.ParseFloat(string(values[m.Name]), 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, false
		}
		list[i] = v
	}
	return list, len(l) > 0
}

// A Problem is why a list is wrong. At is where, below searcher.
type Problem struct{ At, Message, Hint string }

// Beside is what the list must fit to.
type Beside struct {
	Metric      string // searcher.metric and smaller_is_better
	Smaller     bool
	Progressive bool
	Learns      bool // learn_from
	Program     bool // sampler: program
	Early       bool // the search is of revision 1
	Trials      int  // max_trials
}

// Problems checks the list.
func (l List) Problems(b Beside) (list []Problem) {
	wrong := func(is bool, at, message, hint string) {
		if is {
			list = append(list, Problem{at, message, hint})
		}
	}
	if len(l) == 0 {
		return nil
	}
	wrong(len(l) > MaxMetrics, "metrics", fmt.Sprintf("has %d metrics; at most %d are allowed", len(l), MaxMetrics), "")
	seen := map[string]bool{}
	for i, m := range l {
		at := fmt.Sprintf("metrics[%d]", i)
		wrong(seen[m.Name] && m.Name != "", at+".name", fmt.Sprintf("names %.100q twice", m.Name), "give a metric both bounds in one entry")
		seen[m.Name] = true
		wrong(math.Abs(optional.Value(m.AtMost)) > maxBound, at+".at_most", "is too large", "")
		wrong(math.Abs(optional.Value(m.AtLeast)) > maxBound, at+".at_least", "is too large", "")
		wrong(m.AtMost != nil && m.AtLeast != nil && *m.AtLeast > *m.AtMost, at+".at_least", "is above at_most, so no trial keeps both", "")
		wrong(!m.Wanted() && m.Bounds() == "", at+".objective", "is false, and the metric has no bounds, so it has no effect", "give it at_most or at_least")
	}
	wrong(!l[0].Wanted(), "metrics[0].objective", "must be true: the first metric is the one that lists of experiments show", "begin with an objective")
	wrong(b.Metric != l[0].Name, "metric", fmt.Sprintf("is not the first of metrics, %.100q", l[0].Name), "omit metric, which is the first of metrics")
	wrong(b.Metric == l[0].Name && b.Smaller != l[0].Smaller(), "smaller_is_better", "differs from that of the first of metrics", "omit it; each of metrics has its own")
	const single = "is not possible with several metrics"
	wrong(b.Progressive, "progressive", single, "remove it")
	wrong(b.Learns, "learn_from", single+": an earlier search had another purpose", "remove it")
	wrong(b.Program, "sampler", "program "+single+": a program learns of one only", "use tpe or random")
	wrong(b.Early, "metrics", "requires revision 2 of the search", "omit revision")
	wrong(b.Trials > MaxTrials, "max_trials", fmt.Sprintf("a search with several metrics has at most %d trials, found %d", MaxTrials, b.Trials), "")
	return list
}
