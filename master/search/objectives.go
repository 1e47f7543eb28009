package search

import (
	"fmt"
	"math"
	"slices"

	"github.com/detent-ml/detent/master/expconf/objectives"
	"github.com/detent-ml/detent/master/search/front"
)

// A search with several metrics (searcher.metrics) compares results by their order in package front. A validation counts as a whole: if it lacks
// one of the metrics, its trial fails, as with one metric; if one is NaN or infinite, the result ranks behind all others. The front is that of all
// validations of all trials, so a trial may be on it more than once. What knows one metric only, such as the best trial, uses the first one,
// among the results that keep the bounds.

// goals is what a search with several metrics keeps.
type goals struct {
	list    objectives.List
	front   front.Archive[FrontResult]
	last    map[int]map[string]any // trial → the metrics of its newest validation
	results map[int]bool           // the trials with a result; true: one of its results keeps the bounds
}

// FrontResult is a result on the front.
type FrontResult struct {
	Trial  int       `json:"trial"` // its number
	Steps  int       `json:"steps"` // of its training
	Values []float64 `json:"values"`
}

// newGoals returns nil for a search with one metric.
func newGoals(list objectives.List) *goals {
	if len(list) == 0 {
		return nil
	}
	return &goals{list: list, last: map[int]map[string]any{}, results: map[int]bool{}}
}

// whole adds to a length that a program completed, whose report has one metric only, the metrics of its trial's newest validation.
func (g *goals) whole(trial int, v Validation) Validation {
	if len(v.Values) > 0 {
		g.last[trial] = v.Values
	} else if v.Length > 0 {
		v.Values = g.last[trial]
	}
	return v
}

// judge returns the result of a validation, or why it has none.
func (g *goals) judge(v Validation, sign float64) (r Result, values []float64, why string) {
	diverged := false
	for _, m := range g.list {
		value, unfit := v.Values[m.Name], ""
		f, isNumber := value.(float64)
		if !isNumber {
			unfit, _ = value.(string)
			worst, why := unfitMetric(m.Name, "searcher.metrics", unfit, v.Steps)
			if why != "" {
				return r, nil, why
			}
			diverged, f = true, worst
		}
		values = append(values, f)
	}
	p := front.Worst()
	r.Metric = math.Inf(1)
	if !diverged {
		p = front.Of(g.list, values)
		r.Metric = sign * values[0]
	}
	r.Point = &p
	return r, values, ""
}

// note remembers a result that is one.
func (s *Search) note(trial int, v Validation) {
	r, values, why := s.goals.judge(v, s.sign)
	if why != "" || math.IsInf(r.Metric, 0) {
		return
	}
	s.goals.results[trial] = s.goals.results[trial] || r.Point.Feasible()
	if r.Point.Feasible() {
		s.rank(trial, values[0])
		s.goals.front.Add(*r.Point, FrontResult{Trial: trial, Steps: v.Steps, Values: values})
	}
}

// Front returns the results on the front of a search with several metrics, the first ones spread over it; nil if it has one metric.
func (s *Search) Front() []FrontResult {
	if s.goals == nil {
		return nil
	}
	return s.goals.front.List()
}

// maxShown is how many results of the front an outlook has.
const maxShown = 100

// A FrontOutlook is the front as everybody sees it.
type FrontOutlook struct {
	Metrics []string      `json:"metrics"`
	Points  []FrontResult `json:"points"` // at most maxShown
	Total   int           `json:"total"`  // results on the front
	Results int           `json:"results"`
	Keeping int           `json:"keeping"` // of these trials with results: those of which one keeps the bounds
	Bounds  []string      `json:"bounds,omitempty"`
}

// outlook returns nil for a search with one metric.
func (g *goals) outlook() *FrontOutlook {
	if g == nil {
		return nil
	}
	o := &FrontOutlook{Points: g.front.List(), Total: g.front.Len(), Results: len(g.results)}
	o.Points = o.Points[:min(len(o.Points), maxShown)]
	for _, m := range g.list {
		o.Metrics = append(o.Metrics, m.Name)
		if b := m.Bounds(); b != "" {
			o.Bounds = append(o.Bounds, fmt.Sprintf("%s %s", m.Name, b))
		}
	}
	for _, keeps := range g.results {
		if keeps {
			o.Keeping++
		}
	}
	return o
}

// inserted adds a result to a list whose results have several metrics, and returns the list in their new order and the place of the result. Of equal
// results the newest or the oldest comes first.
func inserted[T any](list []T, x T, newestFirst bool, point func(T) front.Point) (out []T, at int) {
	added := len(list)
	if newestFirst {
		added, list = 0, slices.Insert(list, 0, x)
	} else {
		list = append(list, x)
	}
	out, order := reordered(list, point)
	return out, slices.Index(order, added)
}

// reordered returns a list in the order of its results, and for each the place that it had.
func reordered[T any](list []T, point func(T) front.Point) (out []T, order []int) {
	points := make([]front.Point, len(list))
	for i := range list {
		points[i] = point(list[i])
	}
	order = front.Sort(points).Order
	out = make([]T, len(list))
	for place, i := range order {
		out[place] = list[i]
	}
	return out, order
}
