package sched

import (
	"slices"

	"github.com/detent-ml/detent/master/pool"
)

// A way is a way to spread a request over nodes.
type way struct {
	nodes  int  // 0: none
	uneven bool // in parts as equal as the nodes allow; else in equal parts
	filled bool // only on blocks that one part fills
}

// find chooses blocks for a request on a shelf: the smallest block that holds
// it whole, else parts on several nodes. It returns nil where the shelf has no room.
//
// The parts are as large as the empty pool would allow. A task is not cut into
// smaller ones because nodes are half full: the traffic between its parts would
// slow it for its whole life, to start it a little earlier. Only nodes that
// stand idle and that smaller equal parts fill do as well.
//
// The result is one hold per node, in the order of the nodes: the order of ranks.
func (p *planner) find(s *shelf, r *Request) []hold {
	fewest := p.fewest(r)
	if fewest.nodes == 0 {
		return nil
	}
	for _, w := range p.ways(r, fewest) {
		if !s.mayHold(r, w) {
			continue
		}
		if w.nodes == 1 || !r.draws() {
			if picks := p.findAs(s, r, w); picks != nil {
				return picks
			}
			continue
		}
		for _, tier := range p.tiers(r) {
			if picks := p.findAs(s, tier, w); picks != nil {
				return picks
			}
		}
	}
	return nil
}

// mayHold is a fast check: false means that no block of a shelf has room, on any nodes and models.
func (s *shelf) mayHold(r *Request, w way) bool {
	switch {
	case w.nodes == 1:
		return true
	case w.uneven:
		return s.together(w.nodes, r.Slots) >= r.Slots
	}
	return s.atLeast(r.Slots/w.nodes, w.nodes) >= w.nodes
}

// findAs looks for one way. A request is on one model, unless it may mix them and must.
func (p *planner) findAs(s *shelf, r *Request, w way) []hold {
	if w.nodes == 1 {
		if b := p.findWhole(s, r); b >= 0 {
			return []hold{{b, r.Slots}}
		}
		return nil
	}
	if p.racks != nil {
		return p.findNear(s, r, w)
	}
	for _, brand := range p.brandsOf(r) {
		if picks := p.findOf(s, r, w, brand); picks != nil {
			return picks
		}
	}
	return nil
}

// findOf looks for one way on nodes of one model, or of any.
func (p *planner) findOf(s *shelf, r *Request, w way, brand string) []hold {
	if w.uneven {
		return p.findUneven(s, r, w.nodes, brand)
	}
	return p.findParts(s, r, w, brand)
}

// anyBrand stands for every model; no device has this name.
const anyBrand = "\x00"

// brandsOf lists the models among which a request's parts are looked for, one after the other.
func (p *planner) brandsOf(r *Request) []string {
	if r.MixModels && len(p.brands) > 1 {
		return p.mixed
	}
	return p.brands
}

// fewest is how the pool would spread a request over as few nodes as possible if
// it were empty: in equal parts if so many nodes hold those, else in unequal ones.
func (p *planner) fewest(r *Request) way {
	if len(r.Exclude) > 0 {
		return p.fewestNow(r)
	}
	about := p.about(r)
	if !about.spread {
		about.fewest = p.fewestNow(r)
		about.spread = true
	}
	return about.fewest
}

func (p *planner) fewestNow(r *Request) way {
	if p.shut(r) {
		return way{}
	}
	if p.findWhole(p.capacity, r) >= 0 {
		return way{nodes: 1}
	}
	if r.SingleNode {
		return way{}
	}
	least := 0
	for _, brand := range p.brandsOf(r) {
		if k := p.nodesFor(r, brand); k > 0 && (least == 0 || k < least) {
			least = k
		}
	}
	if least == 0 || least > r.Slots {
		return way{}
	}
	for k := least; k <= min(r.Slots, p.schedulable); k++ {
		if r.Slots%k == 0 {
			if w := (way{nodes: k}); p.findAs(p.capacity, r, w) != nil {
				return w
			}
		}
		if !r.EqualParts {
			return way{nodes: k, uneven: true}
		}
	}
	return way{}
}

// nodesFor is on how many nodes of a model the empty pool could hold the request in any
// parts; 0 if it could not.
func (p *planner) nodesFor(r *Request, brand string) int {
	sum, count := 0, 0
	for i := range p.largestFirst(p.capacity, r, brand) {
		count++
		if sum += len(p.blocks[i].slots); sum >= r.Slots {
			return count
		}
	}
	return 0
}

// smallestPart is the least that any of so many unequal parts of a request could have.
func (p *planner) smallestPart(r *Request, nodes int) int {
	return max(1, r.Slots-p.capacity.together(nodes-1, r.Slots))
}

// ways lists how a request may be spread, the best one first.
func (p *planner) ways(r *Request, fewest way) []way {
	if len(r.Exclude) > 0 {
		return p.waysNow(r, fewest)
	}
	about := p.about(r)
	if about.ways == nil {
		about.ways = p.waysNow(r, fewest)
	}
	return about.ways
}

func (p *planner) waysNow(r *Request, fewest way) []way {
	list := []way{fewest}
	if r.SingleNode {
		return list
	}
	for k := fewest.nodes + 1; k <= min(r.Slots, p.schedulable); k++ {
		if r.Slots%k == 0 {
			list = append(list, way{nodes: k, filled: true})
		}
	}
	return list
}

// findWhole takes the smallest block that holds the request, or with worst fit the largest,
// of those on the nodes that are best for it, and of equal ones the first with fewest link groups.
func (p *planner) findWhole(s *shelf, r *Request) int {
	best, score := -1, 0.0
	for i := range s.max - r.Slots + 1 {
		n := r.Slots + i
		if p.pool.Scheduler.Fitting == pool.WorstFit {
			n = s.max - i
		}
		for b := range p.row(s, n, r.Slots) {
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

// findParts takes the smallest blocks that hold equal parts, on as many nodes; with
// filled, only blocks that the part fills.
func (p *planner) findParts(s *shelf, r *Request, w way, brand string) []hold {
	part := r.Slots / w.nodes
	picks := make([]hold, 0, w.nodes)
	var used []bool // nodes; of one model, each has one block
	if brand == anyBrand {
		used = make([]bool, len(p.nodes))
	}
	for n := part; n <= s.max; n++ {
		for i := range p.row(s, n, part) {
			b := &p.blocks[i]
			if used != nil && used[b.node] || brand != anyBrand && b.brand != brand || w.filled && len(b.slots) != part || p.excluded(r, i) {
				continue
			}
			if used != nil {
				used[b.node] = true
			}
			picks = append(picks, hold{i, part})
			if len(picks) == w.nodes {
				slices.SortFunc(picks, func(a, b hold) int { return a.block - b.block })
				return picks
			}
		}
		if w.filled {
			break
		}
	}
	return nil
}
