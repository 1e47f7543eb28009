package gpus

import "slices"

// Cliques divides GPUs into groups in which each one is linked to each other: the largest group first, then the largest of
// the rest. So the eight GPUs of a cube mesh are two groups of four, although links also lead from one group to the other.
// Of equal groups, the one of the first ids comes first. GPUs that are linked to no other of the rest are in no group.
//
// The time grows steeply with the number of GPUs; machines have few.
func Cliques(ids []string, linked func(a, b string) bool) (groups [][]string) {
	rest := slices.Clone(ids)
	for {
		best := largest(nil, rest, nil, linked)
		if len(best) < 2 {
			return groups
		}
		groups = append(groups, best)
		rest = slices.DeleteFunc(rest, func(id string) bool { return slices.Contains(best, id) })
	}
}

// largest returns the largest group that has all of chosen and others of these candidates, which are linked to all of
// chosen, if it is larger than best; else best.
func largest(chosen, candidates, best []string, linked func(a, b string) bool) []string {
	if len(chosen) > len(best) {
		best = slices.Clone(chosen)
	}
	for i, id := range candidates {
		if len(chosen)+len(candidates)-i <= len(best) {
			return best
		}
		var next []string
		for _, other := range candidates[i+1:] {
			if linked(id, other) {
				next = append(next, other)
			}
		}
		best = largest(append(slices.Clip(chosen), id), next, best, linked)
	}
	return best
}
