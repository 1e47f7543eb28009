package sched

import (
	"cmp"
	"iter"
	"slices"
)

// largestFirst lists the blocks of a model, or of any, that a request may use, one of a node,
// those with most slots on the shelf first; of equal ones, the last by name first.
func (f *fit) largestFirst(s *shelf, r *Request, brand string) iter.Seq[int] {
	return func(yield func(int) bool) {
		var used []bool
		if brand == anyBrand {
			used = make([]bool, len(f.nodes))
		}
		for n := s.max; n > 0; n-- {
			for _, i := range slices.Backward(s.rows[n]) {
				b := &f.blocks[i]
				if brand != anyBrand && b.brand != brand || used != nil && used[b.node] || f.excluded(r, i) {
					continue
				}
				if used != nil {
					used[b.node] = true
				}
				if !yield(i) {
					return
				}
			}
		}
	}
}

// findUneven chooses k blocks of similar size that hold the request together, as small as possible, and divides the
// request among them as equally as they allow.
//
// If any k blocks hold the request, the k largest blocks do. So a request that uses only blocks that this one could
// not use does not delay it.
func (f *fit) findUneven(s *shelf, r *Request, k int, brand string) []hold {
	var window, found []int // of the last k blocks; and the last window that holds it
	sum := 0
	for i := range f.largestFirst(s, r, brand) {
		window = append(window, i)
		sum += s.at[i]
		if len(window) > k {
			sum -= s.at[window[len(window)-k-1]]
		}
		if len(window) < k {
			continue
		}
		if sum < r.Slots {
			break
		}
		found = window[len(window)-k:]
	}
	if found == nil {
		return nil
	}
	return f.level(s, slices.Clone(found), r.Slots)
}

// level divides slots among blocks: each gets the same, one more or less, unless it has
// fewer. Of equal blocks, the first by name get one more.
func (f *fit) level(s *shelf, blocks []int, slots int) []hold {
	slices.SortFunc(blocks, func(a, b int) int { return cmp.Or(s.at[a]-s.at[b], b-a) })
	picks := make([]hold, 0, len(blocks))
	for j, i := range blocks {
		part := min(s.at[i], slots/(len(blocks)-j))
		slots -= part
		picks = append(picks, hold{i, part})
	}
	slices.SortFunc(picks, func(a, b hold) int { return a.block - b.block })
	return picks
}
