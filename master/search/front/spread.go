package front

import (
	"cmp"
	"math"
	"slices"
)

// maxSpread is how many results of a front are chosen one by one; the others follow by their distance from these.
const maxSpread = 32

// Spread orders results of one front: first the best in the first metric, then always the one that is farthest from those before it (an epsilon net,
// as in Schmucker et al., "Multi-objective Asynchronous Successive Halving", 2021). So the first few are spread over the whole front. Each
// metric counts by its range on the front. The result has the same indexes as the list.
func Spread(points []Point, list []int) []int {
	if len(list) < 2 || len(points[list[0]].Values) == 0 {
		return slices.Clone(list)
	}
	at, metrics := scaled(points, list), len(points[list[0]].Values)
	next := 0
	for n := range list {
		if slices.Compare(points[list[n]].Values, points[list[next]].Values) < 0 {
			next = n
		}
	}
	left, apart := make([]int, len(list)), make([]float64, len(list)) // places in the list that are not chosen; their distance from the nearest that is
	for n := range list {
		left[n], apart[n] = n, math.Inf(1)
	}
	out := make([]int, 0, len(list))
	for now := next; len(left) > 0 && len(out) < maxSpread; {
		out = append(out, list[now])
		chosen, kept, best := at[now*metrics:(now+1)*metrics], left[:0], -1
		for _, n := range left {
			if n == now {
				continue
			}
			if d := distance(at[n*metrics:(n+1)*metrics], chosen); d < apart[n] {
				apart[n] = d
			}
			if best < 0 || apart[n] > apart[best] {
				best = n
			}
			kept = append(kept, n)
		}
		left, now = kept, best
	}
	slices.SortStableFunc(left, func(a, b int) int { return cmp.Compare(apart[b], apart[a]) })
	for _, n := range left {
		out = append(out, list[n])
	}
	return out
}

// scaled returns the values of results, one result after another, each metric from 0 to 1.
func scaled(points []Point, list []int) []float64 {
	low, high := slices.Clone(points[list[0]].Values), slices.Clone(points[list[0]].Values)
	for _, i := range list {
		for m, v := range points[i].Values {
			low[m], high[m] = min(low[m], v), max(high[m], v)
		}
	}
	out := make([]float64, 0, len(list)*len(low))
	for _, i := range list {
		for m, v := range points[i].Values {
			if span := high[m]/2 - low[m]/2; span > 0 { // half of it, which does not overflow
				out = append(out, (v/2-low[m]/2)/span)
			} else {
				out = append(out, 0)
			}
		}
	}
	return out
}

// distance is the largest difference of a metric.
func distance(a, b []float64) (d float64) {
	for m, v := range a {
		if x := math.Abs(v - b[m]); x > d {
			d = x
		}
	}
	return d
}
