package sched

import (
	"slices"
	"time"

	"github.com/detent-ml/detent/master/pool"
)

// A way is a way to spread a request over nodes.
type way struct {
	nodes  int  // 0: none
	uneven bool // in parts as equal as the nodes allow; else in equal parts
	filled bool // only on blocks that one part fills
}

// fit says where a request has room. Requests are often thousands that are alike, so it keeps what it found out for each
// shape.
type fit struct {
	*preferences
	shapes map[shape]*found
	last   *found // the one that was used last
}

func newFit(w *preferences) *fit { return &fit{preferences: w, shapes: map[shape]*found{}} }

// shape is all that decides how nodes could hold a request that excludes none by itself.
type shape struct {
	slots                int
	ask                  Ask
	single, equal, mixed bool
	spot                 bool
	choice               *Choice
	into                 *overlap
}

// found is what was found out for the requests of one shape, which are often thousands.
type found struct {
	shape
	spread  bool  // fewest is known
	fewest  way   // of fewest
	ways    []way // of ways; nil: not known
	without int   // no room was found when so many blocks had risen on nows; -1: some was
	whyNow  reason
	never   string // of explainer.whyNever

	unlent   time.Duration // nothing could be lent for so long …
	unlentAt int           // … when so many blocks had risen on lends
	unlentBy time.Time     // … nor is anything lent longer than until then
}

// about returns what is known of requests like this one.
func (f *fit) about(r *Request) *found {
	key := shape{r.Slots, r.Ask, r.SingleNode, r.EqualParts, r.MixModels, r.OnSpot, r.Choice, r.into}
	if f.last != nil && f.last.shape == key {
		return f.last
	}
	known := f.shapes[key]
	if known == nil {
		known = &found{shape: key, without: -1}
		f.shapes[key] = known
	}
	f.last = known
	return known
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
func (f *fit) find(s *shelf, r *Request) []hold {
	fewest := f.fewest(r)
	if fewest.nodes == 0 {
		return nil
	}
	var tiers []*Request
	for _, w := range f.ways(r, fewest) {
		if !s.mayHold(r, w) {
			continue
		}
		if w.nodes == 1 || !r.draws() {
			if picks := f.findAs(s, r, w); picks != nil {
				return picks
			}
			continue
		}
		if tiers == nil {
			tiers = f.tiers(r)
		}
		for _, tier := range tiers {
			if picks := f.findAs(s, tier, w); picks != nil {
				return picks
			}
		}
	}
	return nil
}

// fits reports whether find would find room. It asks for no preferences, which only choose among places.
func (f *fit) fits(s *shelf, r *Request) bool {
	fewest := f.fewest(r)
	if fewest.nodes == 0 {
		return false
	}
	for _, w := range f.ways(r, fewest) {
		switch {
		case !s.mayHold(r, w):
		case w.nodes == 1:
			if f.findWhole(s, r) >= 0 {
				return true
			}
		default:
			if slices.ContainsFunc(f.brandsOf(r), func(brand string) bool { return f.findOf(s, r, w, brand) != nil }) {
				return true
			}
		}
	}
	return false
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
func (f *fit) findAs(s *shelf, r *Request, w way) []hold {
	if w.nodes == 1 {
		if b := f.findWhole(s, r); b >= 0 {
			return []hold{{b, r.Slots}}
		}
		return nil
	}
	if f.racks != nil {
		return f.findNear(s, r, w)
	}
	for _, brand := range f.brandsOf(r) {
		if picks := f.findOf(s, r, w, brand); picks != nil {
			return picks
		}
	}
	return nil
}

// findOf looks for one way on nodes of one model, or of any.
func (f *fit) findOf(s *shelf, r *Request, w way, brand string) []hold {
	if w.uneven {
		return f.findUneven(s, r, w.nodes, brand)
	}
	return f.findParts(s, r, w, brand)
}

// anyBrand stands for every model; no device has this name.
const anyBrand = "\x00"

// brandsOf lists the models among which a request's parts are looked for, one after the other.
func (inv *inventory) brandsOf(r *Request) []string {
	if r.MixModels && len(inv.brands) > 1 {
		return inv.mixed
	}
	return inv.brands
}

// fewest is how the pool would spread a request over as few nodes as possible if
// it were empty: in equal parts if so many nodes hold those, else in unequal ones.
func (f *fit) fewest(r *Request) way {
	if len(r.Exclude) > 0 {
		return f.fewestNow(r)
	}
	about := f.about(r)
	if !about.spread {
		about.fewest = f.fewestNow(r)
		about.spread = true
	}
	return about.fewest
}

func (f *fit) fewestNow(r *Request) way {
	if f.shut(r) {
		return way{}
	}
	if f.findWhole(f.capacity, r) >= 0 {
		return way{nodes: 1}
	}
	if r.SingleNode {
		return way{}
	}
	least := 0
	for _, brand := range f.brandsOf(r) {
		if k := f.nodesFor(r, brand); k > 0 && (least == 0 || k < least) {
			least = k
		}
	}
	if least == 0 || least > r.Slots {
		return way{}
	}
	for k := least; k <= min(r.Slots, f.schedulable); k++ {
		if r.Slots%k == 0 {
			if w := (way{nodes: k}); f.findAs(f.capacity, r, w) != nil {
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
func (f *fit) nodesFor(r *Request, brand string) int {
	sum, count := 0, 0
	for _, n := range f.largestFirst(f.capacity, r, brand) {
		count++
		if sum += n; sum >= r.Slots {
			return count
		}
	}
	return 0
}

// smallestPart is the least that any of so many unequal parts of a request could have.
func (inv *inventory) smallestPart(r *Request, nodes int) int {
	return max(1, r.Slots-inv.capacity.together(nodes-1, r.Slots))
}

// ways lists how a request may be spread, the best one first.
func (f *fit) ways(r *Request, fewest way) []way {
	if len(r.Exclude) > 0 {
		return f.waysNow(r, fewest)
	}
	about := f.about(r)
	if about.ways == nil {
		about.ways = f.waysNow(r, fewest)
	}
	return about.ways
}

func (f *fit) waysNow(r *Request, fewest way) []way {
	list := []way{fewest}
	if r.SingleNode {
		return list
	}
	for k := fewest.nodes + 1; k <= min(r.Slots, f.schedulable); k++ {
		if r.Slots%k == 0 {
			list = append(list, way{nodes: k, filled: true})
		}
	}
	return list
}

// findWhole takes the smallest block that holds the request, or with worst fit the largest,
// of those on the nodes that are best for it, and of equal ones the first with fewest link groups.
// If the request asks for processors or memory, those come first where it leaves the fewest other slots unused.
func (f *fit) findWhole(s *shelf, r *Request) int {
	best, score, spoiled := -1, 0.0, 0
	for i := range s.max - r.Slots + 1 {
		n := r.Slots + i
		if f.pool.Scheduler.Fitting == pool.WorstFit {
			n = s.max - i
		}
		for b := range f.row(s, n, r.Slots) {
			node := f.blocks[b].node
			if f.excluded(r, b) || !f.has(s, r, b, r.Slots) {
				continue
			}
			spoils, of := f.spoiledOn(s, r, node, r.Slots), 0.0
			if r.draws() {
				of = f.score(r, node)
			} else if spoils == 0 {
				return b
			}
			if best < 0 || spoils < spoiled || spoils == spoiled && of > score {
				best, score, spoiled = b, of, spoils
			}
		}
	}
	return best
}

// findParts takes the smallest blocks that hold equal parts, on as many nodes; with
// filled, only blocks that the part fills.
func (f *fit) findParts(s *shelf, r *Request, w way, brand string) []hold {
	part := r.Slots / w.nodes
	picks := make([]hold, 0, w.nodes)
	var used []bool // nodes; of one model, each has one block
	if brand == anyBrand {
		used = make([]bool, len(f.nodes))
	}
	for n := part; n <= s.max; n++ {
		for i := range f.row(s, n, part) {
			b := &f.blocks[i]
			if used != nil && used[b.node] || brand != anyBrand && b.brand != brand || w.filled && len(b.slots) != part || f.excluded(r, i) || !f.has(s, r, i, part) {
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

// room finds slots that may be given at once. If it found none for a shape, it looks again only after a block has got
// more slots to give.
func (f *fit) room(r *Request) []hold {
	if len(r.Exclude) > 0 {
		return f.find(f.nows, r)
	}
	about := f.about(r)
	if about.without == f.nows.rises {
		return nil
	}
	picks := f.find(f.nows, r)
	about.without = -1
	if picks == nil {
		about.without = f.nows.rises
	}
	return picks
}
