package sched

import (
	"cmp"
	"slices"
	"strings"
)

// A block is the usable slots of one model on one node.
type block struct {
	node     int         // index into planner.nodes
	brand    string      // model of its slots
	slots    []int       // usable slot ids, ascending
	free     []int       // those that nobody holds
	tasks    []int       // how many of its slots each task holds that runs here, or is promised to
	leaving  int         // held by tasks that were asked to go
	promised int         // given to requests that wait for those tasks
	spare    int         // slots that may be given without delaying the head
	tight    int         // …, to requests that would run into what the head must not run into
	links    *linkGroups // nil: the slots are equally close
}

// noLimit is the spare of a block that the head cannot use, and of every block
// while there is no head.
const noLimit = int(^uint(0) >> 1)

// open is what could be given if nobody were more important.
func (b *block) open() int { return len(b.free) }

// now is what may be given at once: promises are served from the slots of
// leaving tasks first, and the head's share stays untouched.
func (b *block) now() int {
	return min(len(b.free)-max(0, b.promised-b.leaving), b.spare)
}

// later is what there will be once those who were asked to go have gone.
func (b *block) later() int { return len(b.free) + b.leaving - b.promised }

// take removes n slots from the free ones: of as few link groups as possible, lowest ids first.
func (b *block) take(n int) []int {
	b.tasks = append(b.tasks, n)
	if b.links != nil {
		return b.takeLinked(n)
	}
	ids := b.free[:n:n]
	b.free = b.free[n:]
	return ids
}

// A shelf keeps blocks by a number of slots, so that the smallest block that
// holds a part is found without looking at all of them.
type shelf struct {
	rows [][]int // rows[n] has the indices of the blocks with n slots, ascending
	at   []int   // the row of each block
	max  int     // no row above this one was ever filled

	moves int // how often a block was moved
	rises int // …, to a row of more slots
}

func newShelf(blocks []block, size func(*block) int) *shelf {
	s := &shelf{at: make([]int, len(blocks))}
	for i := range blocks {
		n := max(0, size(&blocks[i]))
		s.grow(n)
		s.rows[n] = append(s.rows[n], i)
		s.at[i] = n
	}
	return s
}

func (s *shelf) grow(n int) {
	for len(s.rows) <= n {
		s.rows = append(s.rows, nil)
	}
	s.max = max(s.max, n)
}

// move puts block i into the row of n slots.
func (s *shelf) move(i, n int) {
	n = max(0, n)
	if s.at[i] == n {
		return
	}
	s.moves++
	if n > s.at[i] {
		s.rises++
	}
	old := s.rows[s.at[i]]
	if j, ok := slices.BinarySearch(old, i); ok {
		s.rows[s.at[i]] = slices.Delete(old, j, j+1)
	}
	s.grow(n)
	j, _ := slices.BinarySearch(s.rows[n], i)
	s.rows[n] = slices.Insert(s.rows[n], j, i)
	s.at[i] = n
}

// atLeast counts the blocks with n slots or more, up to enough.
func (s *shelf) atLeast(n, enough int) int {
	count := 0
	for ; n <= s.max && count < enough; n++ {
		count += len(s.rows[n])
	}
	return count
}

// together is how many slots the largest blocks have, up to enough.
func (s *shelf) together(blocks, enough int) int {
	sum := 0
	for n := s.max; n > 0 && blocks > 0 && sum < enough; n-- {
		k := min(blocks, len(s.rows[n]))
		sum += k * n
		blocks -= k
	}
	return sum
}

// makeBlocks cuts the schedulable nodes into blocks, in the order of the nodes.
func (inv *inventory) makeBlocks() {
	inv.blocks = make([]block, 0, len(inv.nodes))
	var usable []*Slot
	for i := range inv.nodes {
		n := &inv.nodes[i]
		inv.blocksOf[i].from, inv.blocksOf[i].to = len(inv.blocks), len(inv.blocks)
		if !n.Schedulable {
			continue
		}
		inv.schedulable++
		usable = usable[:0]
		for j := range n.Slots {
			if n.Slots[j].usable() {
				usable = append(usable, &n.Slots[j])
			}
		}
		slices.SortFunc(usable, func(a, b *Slot) int { return cmp.Or(strings.Compare(a.Brand, b.Brand), a.ID-b.ID) })
		usable = slices.CompactFunc(usable, func(a, b *Slot) bool { return a.ID == b.ID && a.Brand == b.Brand })
		sizes := linkSizes(n)
		for j := 0; j < len(usable); {
			brand, first := usable[j].Brand, j
			ids := make([]int, 0, len(usable)-j)
			for ; j < len(usable) && usable[j].Brand == brand; j++ {
				ids = append(ids, usable[j].ID)
			}
			inv.usable += len(ids)
			inv.blocks = append(inv.blocks, block{node: i, brand: brand, slots: ids, spare: noLimit, tight: noLimit, links: groupSlots(usable[first:j], sizes)})
			inv.noteLinks(&inv.blocks[len(inv.blocks)-1])
			if at, ok := slices.BinarySearch(inv.brands, brand); !ok {
				inv.brands = slices.Insert(inv.brands, at, brand)
			}
		}
		inv.blocksOf[i].to = len(inv.blocks)
	}
}

// occupy takes the slots of running tasks out of the blocks.
func (inv *inventory) occupy() {
	held := make([]bool, inv.usable)      // the slots of all blocks, one block after the other
	first := make([]int, len(inv.blocks)) // of each block
	for i := 1; i < len(inv.blocks); i++ {
		first[i] = first[i-1] + len(inv.blocks[i-1].slots)
	}
	for i := range inv.running {
		r := &inv.running[i]
		for _, part := range r.Parts {
			node, ok := inv.nodeIndex[part.NodeID]
			if !ok {
				continue
			}
			if len(part.SlotIDs) == 0 {
				inv.aux[node]++
			}
			for _, id := range part.SlotIDs {
				if b := inv.occupySlot(node, id, first, held); b >= 0 {
					inv.holds[i] = addHeld(inv.holds[i], b)
				}
			}
		}
		for _, h := range inv.holds[i] {
			b := &inv.blocks[h.block]
			b.tasks = append(b.tasks, h.n)
			if r.Leaving {
				b.leaving += h.n
			}
		}
	}
	for i := range inv.blocks {
		b := &inv.blocks[i]
		for j, id := range b.slots {
			if !held[first[i]+j] {
				b.free = append(b.free, id)
			}
		}
		if b.links != nil {
			b.countLinks()
		}
	}
}

// occupySlot notes that a slot of a node is held, and returns its block; -1 if it is not usable, or was held already.
func (inv *inventory) occupySlot(node, id int, first []int, held []bool) int {
	found := -1
	for b := inv.blocksOf[node].from; b < inv.blocksOf[node].to; b++ {
		j, ok := slices.BinarySearch(inv.blocks[b].slots, id)
		if ok && !held[first[b]+j] {
			held[first[b]+j] = true
			found = b
		}
	}
	return found
}

// hold is a number of slots of one block.
type hold struct{ block, n int }

func addHeld(list []hold, b int) []hold {
	for i := range list {
		if list[i].block == b {
			list[i].n++
			return list
		}
	}
	return append(list, hold{b, 1})
}

// byName orders nodes as users read them.
func byName(a, b Node) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
}
