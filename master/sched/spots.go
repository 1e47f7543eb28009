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
	for _, v := range list {
		if v.isMaintenance() && !v.has(s.now) {
			s.spots = append(s.spots, &spot{Reservation: v, shuts: v.Nodes})
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
			x.slots[node] = append(x.slots[node], s.slotsOf(x, inv, h)...)
		}
		for _, ids := range x.slots {
			slices.Sort(ids)
		}
		s.spots = append(s.spots, x)
	}
}

// A chooser chooses the blocks of a reservation: as few as possible, so that tasks of several slots have room, and of these the ones on which the
// fewest other tasks are in the way.
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

func (c *chooser) choose() (holds []hold) {
	blocks := c.model()
	byLoad := func(a, b int) int {
		x, y := &c.loads[a], &c.loads[b]
		return cmp.Or(y.own-x.own, x.firm-y.firm, x.other-y.other)
	}
	slices.SortStableFunc(blocks, func(a, b int) int { return cmp.Or(c.loads[b].left-c.loads[a].left, byLoad(a, b)) })
	need := c.of.Slots
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
		if c.loads[b].left >= need && need > 0 && (best < 0 || cmp.Or(byLoad(b, best), c.loads[b].left-c.loads[best].left) < 0) {
			best = b
		}
	}
	if best >= 0 {
		holds = append(holds, hold{best, need})
	}
	return holds
}

// model lists the blocks of the model of which most slots are left, if they suffice, so that a task of all slots has room; else all blocks.
func (c *chooser) model() []int {
	left := map[string]int{}
	for i, b := range c.inv.blocks {
		left[b.brand] += max(0, c.loads[i].left)
	}
	var all, one []int
	most := ""
	for _, brand := range c.inv.brands {
		if most == "" || left[brand] > left[most] {
			most = brand
		}
	}
	for i, b := range c.inv.blocks {
		all = append(all, i)
		if b.brand == most {
			one = append(one, i)
		}
	}
	if left[most] >= c.of.Slots {
		return one
	}
	return all
}

// slotsOf chooses slots of a block for a reservation: those that its owner's tasks hold, then free ones, then those of tasks that leave, and then those of others,
// the least important first.
func (s *site) slotsOf(v *spot, inv *inventory, h hold) []int {
	b := &inv.blocks[h.block]
	node := inv.nodes[b.node].ID
	holder := map[int]*Running{}
	for i := range inv.running {
		if !slices.ContainsFunc(inv.holds[i], func(x hold) bool { return x.block == h.block }) {
			continue
		}
		for _, part := range inv.running[i].Parts {
			if part.NodeID == node {
				for _, id := range part.SlotIDs {
					holder[id] = &inv.running[i]
				}
			}
		}
	}
	taken := func(id int) bool {
		return slices.ContainsFunc(s.spots, func(other *spot) bool { return other.overlaps(v.Reservation) && other.hasSlot(node, id) })
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
