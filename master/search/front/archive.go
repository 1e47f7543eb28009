package front

import "slices"

// MaxPoints is how many results an archive keeps.
const MaxPoints = 500

// An Archive has the front of the results that were added. Each has what it is of. The zero Archive is empty.
type Archive[T any] struct {
	points []Point
	of     []T
}

// Add adds a result if it keeps its bounds, and none in the archive dominates or equals it. It removes what the result dominates. An archive
// that is full loses the result that is nearest to others.
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
	if len(a.points) > MaxPoints {
		order := a.order()
		last := order[len(order)-1]
		a.points, a.of = slices.Delete(a.points, last, last+1), slices.Delete(a.of, last, last+1)
	}
}

// Len is how many results the archive has.
func (a *Archive[T]) Len() int { return len(a.points) }

// List returns what the results are of, in the order of Spread.
func (a *Archive[T]) List() []T {
	out := make([]T, 0, len(a.of))
	for _, i := range a.order() {
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
