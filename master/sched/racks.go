package sched

import (
	"cmp"
	"slices"
)

// Racks are a preference among places on equally many nodes: the parts of a task are on nodes of one rack if one has
// room, else of few racks. A task neither waits for a better place nor uses more nodes for it.

// findRacks notes the rack of each node. A node that does not say is in a rack of its own.
func (inv *inventory) findRacks() {
	if !slices.ContainsFunc(inv.nodes, func(n Node) bool { return n.Rack != "" }) {
		return
	}
	inv.racks = make([]string, len(inv.nodes))
	for i := range inv.nodes {
		inv.racks[i] = inv.nodes[i].Rack
		if inv.racks[i] == "" {
			inv.racks[i] = "\x00" + inv.nodes[i].ID
		}
	}
}

// findNear places a request in one way (on one node, in equal parts, …) on nodes of as few racks as possible. Among
// several models of slots it chooses the one with the fewest racks. Ranks in the same rack follow each other.
func (f *fit) findNear(s *shelf, r *Request, w way) []hold {
	var best []hold
	for _, brand := range f.brandsOf(r) {
		if best != nil && (brand == anyBrand || f.racksOf(best) == 1) {
			break
		}
		picks := f.findOf(s, r, w, brand)
		if picks == nil {
			continue
		}
		near := *r
		if near.within = f.fewRacks(s, r, w, brand); near.within != nil {
			if found := f.findOf(s, &near, w, brand); found != nil && f.racksOf(found) <= f.racksOf(picks) {
				picks = found
			}
		}
		if best == nil || f.racksOf(picks) < f.racksOf(best) {
			best = picks
		}
	}
	slices.SortFunc(best, func(a, b hold) int {
		return cmp.Or(cmp.Compare(f.racks[f.blocks[a.block].node], f.racks[f.blocks[b.block].node]), a.block-b.block)
	})
	return best
}

func (inv *inventory) racksOf(picks []hold) int {
	racks := map[string]bool{}
	for _, h := range picks {
		racks[inv.racks[inv.blocks[h.block].node]] = true
	}
	return len(racks)
}

// A rack has the blocks of its nodes that a request could use.
type rack struct {
	name  string
	holds []int // how much of the request each of its best blocks holds, the most first
	most  int   // … these together
	all   int   // … all of its blocks together
}

// fewRacks chooses racks that hold a request on so many nodes: the racks that hold most of it, and as the last one the
// rack that holds least of those that suffice. For equal parts there are no fewer. nil if all racks are needed.
func (f *fit) fewRacks(s *shelf, r *Request, w way, brand string) map[string]bool {
	racks, need := f.racksFor(s, r, w, brand)
	within := map[string]bool{}
	var taken []int
	for i, x := range racks {
		f.looks += len(taken) + len(x.holds)
		if mostOf(w.nodes, taken, x.holds) < need {
			taken, within[x.name] = slices.Concat(taken, x.holds), true
			continue
		}
		last := x
		for _, other := range slices.Backward(racks[i:]) {
			f.looks += len(taken) + len(other.holds)
			if mostOf(w.nodes, taken, other.holds) >= need {
				last = other
				break
			}
		}
		within[last.name] = true
		return within
	}
	return nil
}

// racksFor lists the racks that a request could use, first those that hold most of it. need is how much of the
// request these racks must hold together: the number of its slots or, for equal parts, the number of the parts.
func (f *fit) racksFor(s *shelf, r *Request, w way, brand string) (racks []*rack, need int) {
	byName := map[string]*rack{}
	need = r.Slots
	if !w.uneven {
		need = w.nodes
	}
	for i, holds := range f.largestFirst(s, r, brand) {
		b := &f.blocks[i]
		if !w.uneven {
			if part := r.Slots / w.nodes; holds < part || w.filled && len(b.slots) != part {
				continue
			}
			holds = 1
		}
		name := f.racks[b.node]
		x := byName[name]
		if x == nil {
			x = &rack{name: name}
			byName[name], racks = x, append(racks, x)
		}
		x.all += holds
		if len(x.holds) < w.nodes {
			x.holds, x.most = append(x.holds, holds), x.most+holds
		}
	}
	slices.SortFunc(racks, func(a, b *rack) int { return cmp.Or(b.most-a.most, b.all-a.all, cmp.Compare(a.name, b.name)) })
	return racks, need
}

// mostOf is how much blocks of two lists hold together, of at most so many nodes.
func mostOf(nodes int, a, b []int) (sum int) {
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(a, b int) int { return b - a })
	for _, n := range all[:min(nodes, len(all))] {
		sum += n
	}
	return sum
}
