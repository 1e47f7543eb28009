package front

import (
	"cmp"
	"math"
	"slices"
)

// maxSpread is how many results of a front are chosen one by one; the others follow by their distance from these.
const maxSpread = 64

// Spread orders results of one front: first the best in the first metric, then always the one that is farthest from those before it (an epsilon net,
// as in Schmucker et al., "Multi-objective Asynchronous Successive Halving", 2021). So the first few are spread over the whole front. Each
// metric counts by its range on the front. The result has the same indexes as the list.
func Spread(points []Point, list []int) []int {
	if len(list) < 2 || len(points[list[0]].Values) == 0 {
		return slices.Clone(list)
	}
	at := scaled(points, list)
	left := make([]int, len(list)) // places in the list
	first := 0
	for n := range list {
		left[n] = n
		if slices.Compare(points[list[n]].Values, points[list[first]].Values) < 0 {
			first = n
		}
	}
	apart := make([]float64, len(list)) // from the nearest one that was chosen
	for n := range apart {
		apart[n] = math.Inf(1)
	}
	out := make([]int, 0, len(list))
	for next := first; ; {
		out = append(out, list[next])
		left = slices.DeleteFunc(left, func(n int) bool { return n == next })
		for _, n := range left {
			apart[n] = min(apart[n], distance(at[n], at[next]))
		}
		if len(left) == 0 || len(out) == maxSpread {
			break
		}
		next = left[0]
		for _, n := range left[1:] {
			if apart[n] > apart[next] {
				next = n
			}
		}
	}
	slices.SortStableFunc(left, func(a, b int) int { return cmp.Compare(apart[b], apart[a]) })
	for _, n := range left {
		out = append(out, list[n])
	}
	return out
}

// scaled returns the values of results, each metric from 0 to 1.
func scaled(points []Point, list []int) [][]float64 {
	low, high := slices.Clone(points[list[0]].Values), slices.Clone(points[list[0]].Values)
	for _, i := range list {
		for m, v := range points[i].Values {
			low[m], high[m] = min(low[m], v), max(high[m], v)
		}
	}
	out := make([][]float64, len(list))
	for n, i := range list {
		out[n] = make([]float64, len(low))
		for m, v := range points[i].Values {
			if span := high[m]/2 - low[m]/2; span > 0 { // half of it, which does not overflow
				out[n][m] = (v/2 - low[m]/2) / span
			}
		}
	}
	return out
}

func distance(a, b []float64) (d float64) {
	for m := range a {
		d = max(d, math.Abs(a[m]-b[m]))
	}
	return d
}
