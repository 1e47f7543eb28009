package front

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/detent-ml/detent/master/expconf/objectives"
)

// maxVolume is how many results Volume measures: with four metrics its time grows with the cube of their number.
const maxVolume = 300

// Volume returns the hypervolume of results: the volume of what they dominate, up to the reference, which is worse than all that counts.
// Smaller values are better. Results that are not better than the reference in each metric do not count.
func Volume(values [][]float64, reference []float64) (float64, error) {
	if n := len(reference); n < 1 || n > objectives.MaxMetrics {
		return 0, fmt.Errorf("a hypervolume of %d metrics: from 1 to %d are measured", n, objectives.MaxMetrics)
	}
	var list [][]float64
	for _, v := range values {
		if len(v) != len(reference) {
			return 0, fmt.Errorf("a result has %d metrics, and the reference has %d", len(v), len(reference))
		}
		inside := true
		for m := range v {
			inside = inside && v[m] < reference[m]
		}
		if inside && !slices.ContainsFunc(list, func(o []float64) bool { return slices.Equal(o, v) || dominates(o, v) }) {
			list = append(slices.DeleteFunc(list, func(o []float64) bool { return dominates(v, o) }), v)
		}
	}
	if len(list) > maxVolume {
		return 0, fmt.Errorf("a front of %d results: up to %d are measured", len(list), maxVolume)
	}
	return volume(list, reference), nil
}

// volume cuts the space into slices along the last metric.
func volume(list [][]float64, reference []float64) (sum float64) {
	last := len(reference) - 1
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b []float64) int { return cmp.Compare(a[last], b[last]) })
	if last == 0 {
		if len(list) == 0 {
			return 0
		}
		return reference[0] - list[0][0]
	}
	if last == 1 { // the best of the first metric so far is what a slice has
		best := reference[0]
		for i, v := range list {
			if best = min(best, v[0]); i+1 < len(list) {
				sum += (reference[0] - best) * (list[i+1][1] - v[1])
			} else {
				sum += (reference[0] - best) * (reference[1] - v[1])
			}
		}
		return sum
	}
	for i, v := range list {
		top := reference[last]
		if i+1 < len(list) {
			top = list[i+1][last]
		}
		if top > v[last] {
			sum += volume(list[:i+1], reference[:last]) * (top - v[last])
		}
	}
	return sum
}
