package sched

// A cut is a size of parts in which the head could be placed.
type cut struct {
	part   int
	filled bool // only on blocks that one part fills
	more   bool // or in any larger parts
}

// protect makes r the head: from here on, requests may only use slots that do
// not delay it.
func (p *planner) protect(r *Request) {
	p.head, p.guarded = r, p.laterOverlap(r)
	for _, w := range p.ways(r, p.fewest(r)) {
		if w.uneven {
			p.headCuts = append(p.headCuts, cut{part: p.smallestPart(r, w.nodes), more: true})
		} else {
			p.headCuts = append(p.headCuts, cut{part: r.Slots / w.nodes, filled: w.filled})
		}
	}
	for i := range p.blocks {
		p.blocks[i].spare, p.blocks[i].tight = p.spareOf(i)
		p.changed(i)
	}
	for i := range p.nodes {
		p.rooms[i].protect(p.headParts(i), r.Ask)
	}
}

// headParts lists the sizes of the smallest and the largest part of the head that a node could hold.
func (p *planner) headParts(node int) (parts []int) {
	for i := p.blocksOf[node].from; i < p.blocksOf[node].to; i++ {
		if p.excluded(p.head, i) {
			continue
		}
		most := min(p.head.Slots, p.carriesOn(p.capacity, p.head, i))
		for _, c := range p.headCuts {
			if c.part > most || c.filled && c.part < len(p.blocks[i].slots) {
				continue
			}
			if parts = append(parts, c.part); c.more {
				parts = append(parts, most)
			}
		}
	}
	return parts
}

// spareOf is how many slots of a block may be given to requests behind the head
// without ever delaying it.
//
// Nobody knows which of the tasks that run here end first. Let S be the slots
// of those that are still there at some moment. The head can use the block for
// a part of q slots as soon as S ≤ capacity − q; let m be the largest such S
// that the sizes of the tasks can add up to. Then a further task of up to
// capacity − q − m slots leaves the head its part at each of those moments, and
// a larger one does not. The least over all q that the head could use is what
// may be given; a block of no use to the head is all free. A head of unequal parts
// could use a block whole, and then nothing may be given.
//
// If coming reservations withhold w slots of the block from the head, now or when it starts later, the same holds for the tasks that will not have left by
// then, on the other slots: a task that runs into the reservations may have tight slots at most, and one that ends in time may have spare.
func (p *planner) spareOf(i int) (spare, tight int) {
	b := &p.blocks[i]
	if p.excluded(p.head, i) {
		return noLimit, noLimit
	}
	spare, tight = noLimit, noLimit
	now, later := 0, 0
	if p.head.into != nil {
		now = p.head.into.need[i]
	}
	if p.guarded != nil {
		later = p.guarded.need[i]
	}
	var sums []bool
	for _, c := range p.headCuts {
		room := len(b.slots) - c.part
		if room < now || c.filled && room > 0 {
			continue
		}
		if c.more {
			return 0, 0
		}
		if sums == nil {
			sums = subsetSums(b.tasks, len(b.slots))
		}
		spare = min(spare, room-most(sums, room))
		if later > 0 && room >= later {
			tight = min(tight, room-later-most(sums, room-later))
		}
	}
	return spare, min(spare, tight)
}

// most is the largest of the sums up to a limit.
func most(sums []bool, limit int) int {
	for !sums[limit] {
		limit--
	}
	return limit
}

// subsetSums says which numbers up to limit the sizes can add up to.
func subsetSums(sizes []int, limit int) []bool {
	sums := make([]bool, limit+1)
	sums[0] = true
	for _, size := range sizes {
		for n := limit; n >= size; n-- {
			sums[n] = sums[n] || sums[n-size]
		}
	}
	return sums
}
