// Package front compares results that have several metrics. It is pure.
//
// A result dominates another if it is better in one metric and worse in none. The results that none dominates are the Pareto front. Results that
// break a bound (at_most, at_least) are behind all that keep the bounds. Sort puts results in one order: the front first, then the front of
// the others, and so on (non-dominated sorting); and within each front so that its first results, however many one takes, are spread
// over the whole front (spread.go). volume.go measures how good a front is, archive.go keeps the front of a growing set.
//
// The order depends on the results only: it computes no sums of products, which some processors round in another way.
package front

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/detent-ml/detent/master/expconf/objectives"
)

// maxExact is how many results Sort compares with each other. Of more, it compares the first by the sum of their places in
// each metric: a result that dominates another has a smaller sum, so none of the others dominates one of these.
const maxExact = 5_000

// A Point is a result.
type Point struct {
	Values    []float64 // of the objectives; smaller is better
	Violation float64   // by how much it breaks its bounds; 0: it keeps them; +Inf: it is no result
}

// Of returns a result of finite values, one for each metric.
func Of(list objectives.List, values []float64) (p Point) {
	p.Values, p.Violation = list.Judge(values)
	return p
}

// Worst is the result of a training that diverged or failed. It is behind all others.
func Worst() Point { return Point{Violation: math.Inf(1)} }

// violation is Violation, and +Inf if a value is not finite.
func (p Point) violation() float64 {
	for _, v := range p.Values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return math.Inf(1)
		}
	}
	if math.IsNaN(p.Violation) || len(p.Values) == 0 {
		return math.Inf(1)
	}
	return max(p.Violation, 0)
}

// Feasible reports whether the result is finite and keeps its bounds.
func (p Point) Feasible() bool { return p.violation() == 0 }

// Dominates reports whether p is better than q: it breaks bounds less, or both keep them and it is better in one metric and worse in none.
func (p Point) Dominates(q Point) bool {
	if a, b := p.violation(), q.violation(); a > 0 || b > 0 {
		return a < b
	}
	return dominates(p.Values, q.Values)
}

func dominates(a, b []float64) bool {
	better := false
	for i, v := range a {
		if v > b[i] {
			return false
		}
		better = better || v < b[i]
	}
	return better
}

// A Ranking is an order of results.
type Ranking struct {
	Order []int // indexes of the results, the best first
	Ranks []int // of each result: 0 on the front, 1 on the front of the others, and so on; those that break bounds come behind
}

// Sort ranks results. Of equal ones, the one that comes first in the list ranks first.
func Sort(points []Point) Ranking {
	r := Ranking{Ranks: make([]int, len(points))}
	violations := make([]float64, len(points))
	var feasible, others []int
	for i, p := range points {
		if violations[i] = p.violation(); violations[i] == 0 {
			feasible = append(feasible, i)
		} else {
			others = append(others, i)
		}
	}
	feasible, rest := split(points, feasible)
	fronts := fronts(points, feasible)
	for rank, list := range fronts {
		for _, i := range list {
			r.Ranks[i] = rank
		}
		r.Order = append(r.Order, Spread(points, list)...)
	}
	next := len(fronts)
	for _, i := range rest {
		r.Ranks[i] = next
		next++
	}
	r.Order = append(r.Order, rest...)
	slices.SortStableFunc(others, func(a, b int) int { return cmp.Compare(violations[a], violations[b]) })
	for n, i := range others {
		if n > 0 && violations[others[n-1]] < violations[i] {
			next++
		}
		r.Ranks[i] = next
	}
	r.Order = append(r.Order, others...)
	return r
}

// split returns the results that are compared with each other, in the order of the list, and the others in their order.
func split(points []Point, list []int) (first, rest []int) {
	if len(list) <= maxExact {
		return list, nil
	}
	sums := map[int]int{}
	byPlace := slices.Clone(list)
	for m := range points[list[0]].Values {
		slices.SortStableFunc(byPlace, func(a, b int) int { return cmp.Compare(points[a].Values[m], points[b].Values[m]) })
		place := 0
		for n, i := range byPlace {
			if n > 0 && points[byPlace[n-1]].Values[m] < points[i].Values[m] {
				place++
			}
			sums[i] += place
		}
	}
	slices.Sort(byPlace)
	slices.SortStableFunc(byPlace, func(a, b int) int { return cmp.Compare(sums[a], sums[b]) })
	first, rest = byPlace[:maxExact], byPlace[maxExact:]
	slices.Sort(first)
	return first, rest
}

// fronts divides results into the front, the front of the others, and so on, each in the order of the list. In the order of their values only an
// earlier result can dominate a later one (ENS: Zhang et al., "An Efficient Approach to Nondominated Sorting", 2015), and with two metrics
// only the last one of a front must be looked at.
func fronts(points []Point, list []int) [][]int {
	order := slices.Clone(list)
	slices.SortStableFunc(order, func(a, b int) int { return slices.Compare(points[a].Values, points[b].Values) })
	var out [][]int
	for _, i := range order {
		p := points[i].Values
		at := sort.Search(len(out), func(k int) bool {
			for n := len(out[k]) - 1; n >= 0; n-- {
				if dominates(points[out[k][n]].Values, p) {
					return false
				}
				if len(p) <= 2 {
					break
				}
			}
			return true
		})
		if at == len(out) {
			out = append(out, nil)
		}
		out[at] = append(out[at], i)
	}
	for _, f := range out {
		slices.Sort(f)
	}
	return out
}
