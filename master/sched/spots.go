package sched

import (
	"cmp"
	"slices"
	"time"
)

// A spot is where a reservation is: slots, by the ids of nodes.
type spot struct {
	*Reservation
	slots map[string][]int // ascending
	holds []hold           // how many of each block, in the inventory of choose
	shuts []string         // a maintenance that has not begun: nodes of the pool
	bit   uint64           // its own of each plan, for sets of spots
}

// meets reports whether a task holds some of the slots.
func (v *spot) meets(parts []Part) bool {
	return slices.ContainsFunc(parts, func(part Part) bool {
		return slices.ContainsFunc(part.SlotIDs, func(id int) bool { return v.hasSlot(part.NodeID, id) })
	})
}

func (v *spot) hasSlot(node string, id int) bool {
	_, found := slices.BinarySearch(v.slots[node], id)
	return found
}

// choose chooses the slots of all reservations: reservations at the same time have different slots, and none has slots of a node that is in
// maintenance meanwhile.
func (s *site) choose(list []*Reservation) {
	inv := newInventory(s.of, s.nodes, s.running)
	add := func(x *spot) {
		x.bit = 1 << len(s.spots)
		s.spots = append(s.spots, x)
	}
	for _, v := range list {
		if v.isMaintenance() && !v.has(s.now) {
			add(&spot{Reservation: v, shuts: v.Nodes})
		}
	}
	in := &indexed{inventory: inv, tasks: make([][]int, len(inv.blocks)), spots: make([][]*spot, len(inv.blocks))}
	for i := range inv.running {
		for _, h := range inv.holds[i] {
			in.tasks[h.block] = append(in.tasks[h.block], i)
		}
	}
	for _, v := range list {
		if v.isMaintenance() {
			continue
		}
		c := chooser{inv: inv, of: v, now: s.now, loads: make([]load, len(inv.blocks))}
		c.leave(s.spots)
		c.weigh()
		x := &spot{Reservation: v, holds: c.choose(), slots: map[string][]int{}}
		for _, h := range x.holds {
			node := inv.nodes[inv.blocks[h.block].node].ID
			x.slots[node] = append(x.slots[node], in.slotsOf(x, h)...)
			in.spots[h.block] = append(in.spots[h.block], x)
		}
		for _, ids := range x.slots {
			slices.Sort(ids)
		}
		add(x)
	}
}

// indexed is an inventory with what is on each block, so that a large reservation does not look for it in all tasks and all others again for each of
// its blocks.
type indexed struct {
	*inventory
	tasks [][]int   // by block: which running tasks hold some of it
	spots [][]*spot // …: which reservations were given some of it
}

// A chooser chooses the blocks of a reservation: as few as possible, so that tasks of several slots have room, and of these the ones on which its slots
// cost others the least.
type chooser struct {
	inv   *inventory
	of    *Reservation
	now   time.Time
	loads []load
}

// A load is what is on a block when the reservation begins.
type load struct {
	left  int // slots that no other reservation has at that time
	own   int // held by tasks of the owner
	firm  int // held by others that cannot be preempted
	other int // held by others that can
}

// leave takes out what other reservations have at the same time.
func (c *chooser) leave(others []*spot) {
	for i := range c.loads {
		c.loads[i].left = len(c.inv.blocks[i].slots)
	}
	for _, v := range others {
		if !v.overlaps(c.of) {
			continue
		}
		for _, h := range v.holds {
			c.loads[h.block].left -= h.n
		}
		for _, id := range v.shuts {
			if node, there := c.inv.nodeIndex[id]; there {
				for i := c.inv.blocksOf[node].from; i < c.inv.blocksOf[node].to; i++ {
					c.loads[i].left = 0
				}
			}
		}
	}
}

// weigh counts what is in the way. Long before the start, tasks that can be preempted are not: they come and go.
func (c *chooser) weigh() {
	soon := c.of.From.Sub(c.now) <= reserveLead
	for i := range c.inv.running {
		r := &c.inv.running[i]
		for _, h := range c.inv.holds[i] {
			switch l := &c.loads[h.block]; {
			case r.Leaving || r.endsBy(c.of.From, c.now):
			case c.of.owns(r.Workspace, r.User):
				if c.of.has(c.now) {
					l.own += h.n
				}
			case !r.Preemptible:
				l.firm += h.n
			case soon:
				l.other += h.n
			}
		}
	}
}

// endsBy reports whether a task has certainly ended by a time that comes. A bound that has passed says nothing: the task runs still.
func (r *Running) endsBy(at, now time.Time) bool {
	ends := func(by time.Time) bool { return by.After(now) && !by.After(at) }
	return ends(r.Latest) || ends(r.LentUntil)
}

// hit is how many slots held by others a reservation of so many slots of the block would take: of tasks that cannot be preempted, and of others.
// slotsOf takes the latter first.
func (l *load) hit(slots int) (firm, other int) {
	over := max(0, slots-max(0, l.left-l.firm-l.other))
	firm = max(0, over-l.other)
	return firm, over - firm
}

// A toll is what slots cost, and what speaks for them.
type toll struct{ firm, other, own int }

// toll is what so many slots of a block cost.
func (c *chooser) toll(block, slots int) toll {
	l := &c.loads[block]
	firm, other := l.hit(slots)
	return toll{firm, other, l.own}
}

// compare orders tolls, the best first. A reservation goes where its owner's tasks are only if no more tasks of others are in the way there: else
// a task of the owner on another node could draw it over them, while the slots that it has are enough. A slot that stays taken counts as
// much against a place as one of the owner's tasks for it: so the reservation stays with these beside a few others.
func (t toll) compare(u toll) int {
	x, y := t.firm-t.own, u.firm-u.own
	return cmp.Or(max(0, x)-max(0, y), t.other-u.other, x-y, t.firm-u.firm)
}

// choose chooses blocks of one model, if one has enough slots, so that a task of all slots has room: of these models the one whose slots cost
// the least, and then the one of which most are left.
func (c *chooser) choose() (holds []hold) {
	var best toll
	most := 0
	for _, brand := range c.inv.brands {
		var blocks []int
		left := 0
		for i, b := range c.inv.blocks {
			if b.brand == brand {
				blocks = append(blocks, i)
				left += max(0, c.loads[i].left)
			}
		}
		if left < c.of.Slots {
			continue
		}
		these, sum := c.among(blocks), toll{}
		for _, h := range these {
			t := c.toll(h.block, h.n)
			sum.firm, sum.other, sum.own = sum.firm+t.firm, sum.other+t.other, sum.own+t.own
		}
		if holds == nil || cmp.Or(sum.compare(best), most-left) < 0 {
			holds, best, most = these, sum, left
		}
	}
	if holds != nil {
		return holds
	}
	all := make([]int, len(c.inv.blocks))
	for i := range all {
		all[i] = i
	}
	return c.among(all)
}

// among chooses of these blocks.
func (c *chooser) among(blocks []int) (holds []hold) {
	need := c.of.Slots
	byToll := func(a, b int) int {
		return c.toll(a, min(need, c.loads[a].left)).compare(c.toll(b, min(need, c.loads[b].left)))
	}
	slices.SortStableFunc(blocks, func(a, b int) int { return cmp.Or(c.loads[b].left-c.loads[a].left, byToll(a, b)) })
	for need > 0 && len(blocks) > 0 && c.loads[blocks[0]].left < need { // whole blocks, the largest first
		b := blocks[0]
		blocks = blocks[1:]
		if c.loads[b].left <= 0 {
			return holds
		}
		holds = append(holds, hold{b, c.loads[b].left})
		need -= c.loads[b].left
	}
	best := -1
	for _, b := range blocks { // a part of a block, of the smallest that suffices
		if c.loads[b].left >= need && need > 0 && (best < 0 || cmp.Or(byToll(b, best), c.loads[b].left-c.loads[best].left) < 0) {
			best = b
		}
	}
	if best >= 0 {
		holds = append(holds, hold{best, need})
	}
	return holds
}

// slotsOf chooses slots of a block for a reservation: those that its owner's tasks hold, then free ones, then those of tasks that leave, and then those of others,
// the least important first.
func (in *indexed) slotsOf(v *spot, h hold) []int {
	b := &in.blocks[h.block]
	node := in.nodes[b.node].ID
	holder := map[int]*Running{}
	for _, i := range in.tasks[h.block] {
		for _, part := range in.running[i].Parts {
			if part.NodeID == node {
				for _, id := range part.SlotIDs {
					holder[id] = &in.running[i]
				}
			}
		}
	}
	var others []*spot
	for _, other := range in.spots[h.block] {
		if other.overlaps(v.Reservation) {
			others = append(others, other)
		}
	}
	taken := func(id int) bool {
		return slices.ContainsFunc(others, func(other *spot) bool { return other.hasSlot(node, id) })
	}
	ids := slices.DeleteFunc(slices.Clone(b.slots), taken)
	rank := func(id int) int {
		switch r := holder[id]; {
		case r == nil:
			return 1
		case r.Leaving:
			return 2
		case v.owns(r.Workspace, r.User):
			return 0
		case r.Preemptible:
			return 3
		}
		return 4
	}
	slices.SortStableFunc(ids, func(a, b int) int {
		if d := rank(a) - rank(b); d != 0 || rank(a) != 3 {
			return d
		}
		x, y := holder[a], holder[b]
		return cmp.Or(cmp.Compare(y.Priority, x.Priority), y.lostFrom().Compare(x.lostFrom()), y.StartedAt.Compare(x.StartedAt), cmp.Compare(x.ID, y.ID))
	})
	return slices.Clone(ids[:min(h.n, len(ids))])
}
