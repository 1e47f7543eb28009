package sched

import (
	"slices"

	"github.com/detent-ml/detent/master/pool"
)

// find chooses blocks for a request on a shelf: the smallest block that holds
// it whole, else equal parts on several nodes, of one model before mixed ones.
// It returns nil where the shelf has no room.
//
// The parts are as large as the empty pool would allow. A task is not cut into
// smaller ones because nodes are half full: the traffic between its parts would
// slow it for its whole life, to start it a little earlier. Only nodes that
// stand idle and that the smaller parts fill do as well.
//
// The result is one hold per node, in the order of the nodes: the order of ranks.
func (p *planner) find(s *shelf, r *Request) []hold {
	fewest := p.fewest(r)
	if fewest == 0 {
		return nil
	}
	for _, k := range p.counts(r, fewest) {
		part := r.Slots / k
		if k > 1 && s.atLeast(part, k) < k {
			continue
		}
		if k == 1 || !r.draws() {
			if picks := p.findAs(s, r, k, k > fewest); picks != nil {
				return picks
			}
			continue
		}
		for _, tier := range p.tiers(r) {
			if picks := p.findAs(s, tier, k, k > fewest); picks != nil {
				return picks
			}
		}
	}
	return nil
}

// findAs looks for one number of parts.
func (p *planner) findAs(s *shelf, r *Request, k int, filled bool) []hold {
	if k == 1 {
		if b := p.findWhole(s, r); b >= 0 {
			return []hold{{b, r.Slots}}
		}
		return nil
	}
	for _, brand := range p.brands {
		if picks := p.findParts(s, r, k, brand, filled); picks != nil {
			return picks
		}
	}
	if len(p.brands) > 1 {
		return p.findParts(s, r, k, anyBrand, filled)
	}
	return nil
}

// anyBrand stands for every model; no device has this name.
const anyBrand = "\x00"

// fewest is the number of nodes over which the pool would spread a request if
// it were empty; 0 if it could not hold it at all.
func (p *planner) fewest(r *Request) int {
	key := shape{r.Slots, r.SingleNode, r.Choice}
	if n, known := p.fewestOf[key]; known && len(r.Exclude) == 0 {
		return n
	}
	if p.shut(r) {
		return 0
	}
	n := 0
	for _, k := range p.counts(r, 1) {
		if k == 1 && p.findWhole(p.capacity, r) >= 0 || k > 1 && p.findParts(p.capacity, r, k, anyBrand, false) != nil {
			n = k
			break
		}
	}
	if len(r.Exclude) == 0 {
		p.fewestOf[key] = n
	}
	return n
}

// counts lists over how many nodes a request may be spread evenly, from least on.
func (p *planner) counts(r *Request, least int) []int {
	if r.SingleNode {
		return []int{1}
	}
	var all []int
	for k := least; k <= min(r.Slots, p.schedulable); k++ {
		if r.Slots%k == 0 {
			all = append(all, k)
		}
	}
	return all
}

// findWhole takes the smallest block that holds the request, or with worst fit the largest,
// of those on the nodes that are best for it.
func (p *planner) findWhole(s *shelf, r *Request) int {
	best, score := -1, 0.0
	for i := range s.max - r.Slots + 1 {
		n := r.Slots + i
		if p.pool.Scheduler.Fitting == pool.WorstFit {
			n = s.max - i
		}
		for _, b := range s.rows[n] {
			if p.excluded(r, b) {
				continue
			}
			if !r.draws() {
				return b
			}
			if of := p.score(r, p.blocks[b].node); best < 0 || of > score {
				best, score = b, of
			}
		}
	}
	return best
}

// findParts takes the k smallest blocks that hold a part, on k nodes; with
// filled, only blocks that the part fills.
func (p *planner) findParts(s *shelf, r *Request, k int, brand string, filled bool) []hold {
	part := r.Slots / k
	picks := make([]hold, 0, k)
	used := make(map[int]bool, k)
	for n := part; n <= s.max; n++ {
		for _, i := range s.rows[n] {
			b := &p.blocks[i]
			if used[b.node] || brand != anyBrand && b.brand != brand || filled && len(b.slots) != part || p.excluded(r, i) {
				continue
			}
			used[b.node] = true
			picks = append(picks, hold{i, part})
			if len(picks) == k {
				slices.SortFunc(picks, func(a, b hold) int { return a.block - b.block })
				return picks
			}
		}
		if filled {
			break
		}
	}
	return nil
}
