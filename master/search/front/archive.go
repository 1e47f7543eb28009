package front

import "slices"

// MaxPoints is how many results an archive has.
const MaxPoints = 500

// An Archive has the front of the results that were added. Each has what it is of. The zero Archive is empty. It has up to twice MaxPoints while
// results are added: to find those that are nearest to others, all are put into a new order, which takes much longer than to compare one with all.
type Archive[T any] struct {
	points []Point
	of     []T
}

// Add adds a result if it keeps its bounds, and none in the archive dominates or equals it. It removes what the result dominates. An archive
// that is full loses the results that are nearest to others.
func (a *Archive[T]) Add(p Point, of T) {
	if !p.Feasible() {
		return
	}
	for _, q := range a.points {
		if slices.Equal(q.Values, p.Values) || dominates(q.Values, p.Values) {
			return
		}
	}
	keep := 0
	for i, q := range a.points {
		if !dominates(p.Values, q.Values) {
			a.points[keep], a.of[keep] = q, a.of[i]
			keep++
		}
	}
	a.points, a.of = append(a.points[:keep], p), append(a.of[:keep], of)
	if len(a.points) >= 2*MaxPoints {
		a.thin()
	}
}

// thin keeps MaxPoints results, spread over the front.
func (a *Archive[T]) thin() {
	kept := a.order()[:MaxPoints]
	points, of := make([]Point, MaxPoints, 2*MaxPoints), make([]T, MaxPoints, 2*MaxPoints)
	for n, i := range kept {
		points[n], of[n] = a.points[i], a.of[i]
	}
	a.points, a.of = points, of
}

// Len is how many results the archive has.
func (a *Archive[T]) Len() int { return min(len(a.points), MaxPoints) }

// List returns what the results are of, in the order of Spread.
func (a *Archive[T]) List() []T {
	out := make([]T, 0, a.Len())
	for _, i := range a.order()[:a.Len()] {
		out = append(out, a.of[i])
	}
	return out
}

func (a *Archive[T]) order() []int {
	all := make([]int, len(a.points))
	for i := range all {
		all[i] = i
	}
	return Spread(a.points, all)
}
