package sched

import (
	"cmp"
	"iter"
	"slices"
)

// Links are a preference among the slots of a node: a part of a task gets slots of one link group if one has enough free
// slots, else of as few groups as possible. Of nodes that are equally good otherwise, one where one group has enough comes
// first. Links decide neither whether a request starts nor on which number of nodes.

// linkGroups are the link groups of a block's slots. A slot in no group is a group of its own.
type linkGroups struct {
	of    []int // by block.slots: the number of its group
	size  []int // of each group: all of its slots on the node, also those that cannot be assigned
	free  []int // of each group: the slots that nobody holds
	reach []int // reach[k] is how many free slots the best k+1 groups have together
}

// linkSizes counts the slots of each link group of a node; nil if no group has two slots.
func linkSizes(n *Node) map[int]int {
	var sizes map[int]int
	for i := range n.Slots {
		if g := n.Slots[i].LinkGroup; g != 0 {
			if sizes == nil {
				sizes = map[int]int{}
			}
			sizes[g]++
		}
	}
	for _, size := range sizes {
		if size > 1 {
			return sizes
		}
	}
	return nil
}

// groupSlots makes the link groups of a block from its slots; nil if all are in one group, or the node has no groups. The
// groups are in the order of their numbers, and then the slots that are in none.
func groupSlots(slots []*Slot, sizes map[int]int) *linkGroups {
	if sizes == nil {
		return nil
	}
	var numbers []int
	for _, s := range slots {
		if at, known := slices.BinarySearch(numbers, s.LinkGroup); !known && s.LinkGroup != 0 {
			numbers = slices.Insert(numbers, at, s.LinkGroup)
		}
	}
	g := &linkGroups{of: make([]int, len(slots)), size: make([]int, len(numbers), len(slots))}
	for i, number := range numbers {
		g.size[i] = sizes[number]
	}
	for i, s := range slots {
		if s.LinkGroup == 0 {
			g.of[i], g.size = len(g.size), append(g.size, 1)
			continue
		}
		g.of[i], _ = slices.BinarySearch(numbers, s.LinkGroup)
	}
	if len(g.size) == 1 {
		return nil
	}
	g.free, g.reach = make([]int, len(g.size)), make([]int, len(g.size))
	return g
}

// countLinks counts the free slots of each group.
func (b *block) countLinks() {
	g := b.links
	clear(g.free)
	at := 0
	for _, id := range b.free {
		for b.slots[at] != id {
			at++
		}
		g.free[g.of[at]]++
	}
	copy(g.reach, g.free)
	slices.SortFunc(g.reach, func(a, b int) int { return b - a })
	for k := 1; k < len(g.reach); k++ {
		g.reach[k] += g.reach[k-1]
	}
}

// groupsFor is the least number of groups that have so many free slots together, at least 1. More slots than are free
// need all groups.
func (g *linkGroups) groupsFor(slots int) int { return groupsIn(g.reach, slots) }

// groupsIn is the least number of groups that reach so many slots together, at least 1.
func groupsIn(reach []int, slots int) int {
	k := 1
	for k < len(reach) && reach[k-1] < slots {
		k++
	}
	return k
}

// takeLinked removes n slots from the free ones: of as few groups as possible, and in each group the lowest ids first.
func (b *block) takeLinked(n int) []int {
	g := b.links
	left := g.divide(n)
	ids := make([]int, 0, n)
	rest := make([]int, 0, len(b.free)-n)
	at := 0
	for _, id := range b.free {
		for b.slots[at] != id {
			at++
		}
		if of := g.of[at]; left[of] > 0 {
			left[of]--
			ids = append(ids, id)
		} else {
			rest = append(rest, id)
		}
	}
	b.free = rest
	b.countLinks()
	return ids
}

// divide chooses how many slots each group gives, so that as few groups as possible give any. It takes the groups with
// the fewest free slots that suffice, so that groups with more stay as they are.
func (g *linkGroups) divide(slots int) []int {
	gives := make([]int, len(g.free))
	order := make([]int, 0, len(g.free)) // the most free slots first; of equal groups the last one to use first
	for i := range g.free {
		if g.free[i] > 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(g.free[b]-g.free[a], g.missing(a)-g.missing(b), b-a)
	})
	for k := g.groupsFor(slots); k > 1; k-- {
		others := 0 // what the best k-1 groups have together
		for _, i := range order[:k-1] {
			others += g.free[i]
		}
		at := len(order) - 1 // the smallest group that suffices with them; the best k groups together have enough
		for at > k-1 && g.free[order[at]]+others < slots {
			at--
		}
		i := order[at]
		gives[i] = g.free[i]
		slots -= g.free[i]
		order = slices.Delete(order, at, at+1)
	}
	gives[g.one(order, slots)] = slots
	return gives
}

// missing is 1 for a group of which a slot is held or out of use.
func (g *linkGroups) missing(i int) int {
	if g.free[i] < g.size[i] {
		return 1
	}
	return 0
}

// one chooses the link group for all slots of a request, among the groups with enough free slots: a group that the
// request fills exactly, else a group of which some slots are in use, else an unused group. Among several such groups
// it chooses the one with the fewest free slots.
func (g *linkGroups) one(order []int, slots int) int {
	best, class := -1, 0
	for _, i := range slices.Backward(order) {
		if g.free[i] < slots {
			continue
		}
		of := 1 - g.missing(i)
		if g.free[i] == slots {
			of = -1
		}
		if best < 0 || of < class {
			best, class = i, of
		}
	}
	return best
}

// groupsOn is on how many link groups of a block a part of so many slots would be now.
func (inv *inventory) groupsOn(b, slots int) int {
	if g := inv.blocks[b].links; g != nil {
		return g.groupsFor(slots)
	}
	return 1
}

// minds reports whether links decide between equally good blocks of a shelf: of those from which slots are taken now.
func (inv *inventory) minds(s *shelf) bool { return inv.linked && s == inv.nows }

// fewestGroups is the least number of groups for a part of so many slots on any empty node.
func (inv *inventory) fewestGroups(slots int) int { return groupsIn(inv.reach, slots) }

// noteLinks records what the best groups of an empty block have together.
func (inv *inventory) noteLinks(b *block) {
	if b.links == nil {
		inv.reach = atLeastAt(inv.reach, 0, len(b.slots))
		return
	}
	inv.linked = true
	counts := make([]int, len(b.links.size))
	for _, of := range b.links.of {
		counts[of]++
	}
	slices.SortFunc(counts, func(a, b int) int { return b - a })
	sum := 0
	for k, n := range counts {
		sum += n
		inv.reach = atLeastAt(inv.reach, k, sum)
	}
}

func atLeastAt(list []int, i, n int) []int {
	for len(list) <= i {
		list = append(list, 0)
	}
	list[i] = max(list[i], n)
	return list
}

// row lists the blocks of a row of a shelf, those first on which a part of so many slots is in the fewest link groups.
func (inv *inventory) row(s *shelf, n, part int) iter.Seq[int] {
	if !inv.minds(s) {
		return slices.Values(s.rows[n])
	}
	return func(yield func(int) bool) {
		least := inv.fewestGroups(part)
		for most := least; most > 0; { // one pass for each number of groups that there is
			next := 0
			for _, i := range s.rows[n] {
				switch k := max(inv.groupsOn(i, part), least); {
				case k == most:
					if !yield(i) {
						return
					}
				case k > most && (next == 0 || k < next):
					next = k
				}
			}
			most = next
		}
	}
}
