package sched

import (
	"cmp"
	"iter"
	"slices"
)

// largestFirst lists the blocks of a model, or of any, that a request may use, one of a node,
// those with most slots first that it could use of the shelf, with their number; of equal ones, the last by name first.
func (f *fit) largestFirst(s *shelf, r *Request, brand string) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		var used []bool
		if brand == anyBrand {
			used = make([]bool, len(f.nodes))
		}
		fewer := make(map[int][]int) // blocks of which it could use only so many slots
		for n := s.max; n > 0; n-- {
			row := s.rows[n]
			if len(fewer[n]) > 0 {
				row = slices.Concat(row, fewer[n])
				slices.Sort(row)
			}
			for _, i := range slices.Backward(row) {
				b := &f.blocks[i]
				if brand != anyBrand && b.brand != brand || used != nil && used[b.node] || s.at[i] == n && f.excluded(r, i) {
					continue
				}
				if s.at[i] == n && (f.rooms[b.node].supply != nil || s == f.lends || f.spots != nil) {
					if k := f.carriesOn(s, r, i); k < n {
						fewer[k] = append(fewer[k], i)
						continue
					}
				}
				if used != nil {
					used[b.node] = true
				}
				if !yield(i, n) {
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
	var window, found []hold // of the last k blocks, what it could use of them; and the last window that holds it
	sum := 0
	for i, n := range f.largestFirst(s, r, brand) {
		window = append(window, hold{i, n})
		sum += n
		if len(window) > k {
			sum -= window[len(window)-k-1].n
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
	picks := level(slices.Clone(found), r.Slots)
	if slices.ContainsFunc(picks, func(h hold) bool { return !f.has(s, r, h.block, h.n) }) {
		return nil // what is kept for others leaves room for larger parts only
	}
	return picks
}

// level divides slots among blocks: each gets the same, one more or less, unless it has
// fewer. Of equal blocks, the first by name get one more.
func level(blocks []hold, slots int) []hold {
	slices.SortFunc(blocks, func(a, b hold) int { return cmp.Or(a.n-b.n, b.block-a.block) })
	picks := make([]hold, 0, len(blocks))
	for j, h := range blocks {
		part := min(h.n, slots/(len(blocks)-j))
		slots -= part
		picks = append(picks, hold{h.block, part})
	}
	slices.SortFunc(picks, func(a, b hold) int { return a.block - b.block })
	return picks
}
