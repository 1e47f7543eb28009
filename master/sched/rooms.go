package sched

import (
	"cmp"
	"sort"
)

// A room is what a node has for tasks beside its slots, and what they hold of it. A task that holds no more than the share of its
// slots takes nothing from other slots. What a task holds above that share comes from what the shares of all slots leave, and
// beyond that from other slots, which then stay unused.
type room struct {
	supply   *Supply  // nil: it is not known, and not counted
	slots    int      // of the node, without those that others hold
	free     Amount   // what nobody holds
	leaving  Amount   // held by tasks that were asked to go
	promised Amount   // to requests that wait for those tasks
	over     Amount   // what tasks hold above the shares of their slots
	holds    []Amount // of each task that runs here, or is promised to
	guards   []guard
}

// use is what a running task holds of a node.
type use struct {
	node int
	Amount
}

// A guard keeps what a request that waits needs of a node: tasks behind it may take only what does not delay it,
// whichever of the running tasks end.
type guard struct {
	need, over Amount // what it needs at most, and what of that is above the share of its slots
	stay       Amount // of tasks that can be there beside it
	aux        bool   // it needs no slots
}

// makeRooms makes the rooms of all nodes, and takes out of them what running tasks hold.
func (inv *inventory) makeRooms() {
	inv.rooms = make([]room, len(inv.nodes))
	inv.uses = make([][]use, len(inv.running))
	for i := range inv.nodes {
		s := inv.nodes[i].Supply
		if s == nil {
			continue
		}
		if inv.smallest == nil || s.Slot.MemoryMB < inv.smallest.Slot.MemoryMB {
			inv.smallest = s
		}
		inv.rooms[i] = room{supply: s, free: s.Free}
		for j := range inv.nodes[i].Slots {
			if s := &inv.nodes[i].Slots[j]; s.Taken == "" && s.kept != keptThere {
				inv.rooms[i].slots++
			}
		}
	}
	for i := range inv.running {
		for _, part := range inv.running[i].Parts {
			node, ok := inv.nodeIndex[part.NodeID]
			if !ok || inv.rooms[node].supply == nil {
				continue
			}
			rm := &inv.rooms[node]
			held := cmp.Or(part.Uses, rm.supply.Of(Ask{}, len(part.SlotIDs)))
			inv.uses[i] = append(inv.uses[i], use{node, held})
			rm.give(held, len(part.SlotIDs), false)
			if inv.running[i].Leaving {
				rm.leaving = rm.leaving.plus(held)
			}
		}
	}
}

// give gives a task what it has beside so many slots, now or when others have left.
func (rm *room) give(held Amount, slots int, later bool) {
	if rm.supply == nil {
		return
	}
	if later {
		rm.promised = rm.promised.plus(held)
	} else {
		rm.free = rm.free.minus(held)
	}
	rm.holds = append(rm.holds, held)
	rm.over = rm.over.plus(rm.supply.over(held, slots))
	for i := range rm.guards {
		rm.guards[i].stay = rm.guards[i].stay.plus(held)
	}
}

// common is what the shares of all slots leave.
func (rm *room) common() Amount { return rm.supply.Free.minus(rm.supply.Slot.times(rm.slots)) }

// spoils is how many more slots of the node stay unused if a task holds so much.
func (rm *room) spoils(held Amount, slots int) int {
	common, share := rm.common().most(Amount{}), rm.supply.Slot.most(Amount{1, 1})
	lost := func(over Amount) int {
		over = over.minus(common).most(Amount{})
		return max((over.MHz+share.MHz-1)/share.MHz, (over.MemoryMB+share.MemoryMB-1)/share.MemoryMB)
	}
	return lost(rm.over.plus(rm.supply.over(held, slots))) - lost(rm.over)
}

// protect keeps room for a request that waits, which has one of these amounts there, with so many slots.
func (rm *room) protect(parts []int, ask Ask) {
	if rm.supply == nil || len(parts) == 0 {
		return
	}
	g, smallest := guard{aux: parts[0] == 0}, rm.supply.Of(ask, parts[0])
	for _, slots := range parts {
		a := rm.supply.Of(ask, slots)
		g.need, g.over, smallest = g.need.most(a), g.over.most(rm.supply.over(a, slots)), smallest.least(a)
	}
	for _, held := range rm.holds {
		if held.plus(smallest).within(rm.supply.Free) { // else it has gone before the request can start
			g.stay = g.stay.plus(held)
		}
	}
	rm.guards = append(rm.guards, g)
}

// spares reports whether a task may hold so much beside those for whom room is kept; if it is lent, beside those that need no slots: a
// loan has ended when the head can use the slots. Either all that can be there together
// fits; or each one has the share of its slots, about which backfill.go decides, and what is above these shares fits.
func (rm *room) spares(held Amount, slots int, lent bool) bool {
	for i := range rm.guards {
		g := &rm.guards[i]
		if lent && !g.aux {
			continue
		}
		all, over, common := g.need.plus(g.stay).plus(held), rm.over.plus(g.over).plus(rm.supply.over(held, slots)), rm.common()
		if all.MHz > rm.supply.Free.MHz && over.MHz > common.MHz || all.MemoryMB > rm.supply.Free.MemoryMB && over.MemoryMB > common.MemoryMB {
			return false
		}
	}
	return true
}

// roomOn is what a node has beside slots that a shelf shows.
func (inv *inventory) roomOn(s *shelf, node int) Amount {
	rm := &inv.rooms[node]
	later := rm.free.plus(rm.leaving).minus(rm.promised)
	switch s {
	case inv.capacity, inv.early:
		return rm.supply.Free
	case inv.opens:
		return rm.free
	case inv.laters:
		return later
	}
	return rm.free.least(later)
}

// carries reports whether a node has what a part of so many slots of a request needs beside them.
func (inv *inventory) carries(s *shelf, r *Request, node, slots int) bool {
	rm := &inv.rooms[node]
	if s == inv.lends && !inv.mayLend(r, node) {
		return false
	}
	if rm.supply == nil {
		return true
	}
	a := rm.supply.Of(r.Ask, slots)
	return a.within(inv.roomOn(s, node)) && (len(rm.guards) == 0 || s != inv.nows && s != inv.laters && s != inv.lends || rm.spares(a, slots, s == inv.lends))
}

// has reports whether a part of so many slots of a request may use a block, of which a shelf shows at least as many.
func (inv *inventory) has(s *shelf, r *Request, b, slots int) bool {
	return inv.grants(s, r, b, slots) && inv.carries(s, r, inv.blocks[b].node, slots)
}

// carriesOn is how many slots of a block a request could use, of those that a shelf shows.
func (inv *inventory) carriesOn(s *shelf, r *Request, b int) int {
	return sort.Search(s.at[b], func(i int) bool { return !inv.has(s, r, b, i+1) })
}

// spoiledOn is how many more slots of a node stay unused with a part of a request that is given a place, and may take more than the
// shares of its slots.
func (inv *inventory) spoiledOn(s *shelf, r *Request, node, slots int) int {
	rm := &inv.rooms[node]
	if rm.supply == nil || slots > 0 && !r.asks() || s != inv.nows && s != inv.laters {
		return 0
	}
	return rm.spoils(rm.supply.Of(r.Ask, slots), slots)
}

// partOn is a part of a request on a node, without its slots.
func (inv *inventory) partOn(r *Request, node, slots int) Part {
	return Part{NodeID: inv.nodes[node].ID, Uses: inv.rooms[node].supply.Of(r.Ask, slots)}
}

// leaveRoom counts what a running task holds among what becomes free, or with -1 takes it back.
func (inv *inventory) leaveRoom(i, times int) {
	for _, u := range inv.uses[i] {
		before := inv.roomOn(inv.nows, u.node)
		inv.rooms[u.node].leaving = inv.rooms[u.node].leaving.plus(u.times(times))
		if now := inv.roomOn(inv.nows, u.node); now != before && before.within(now) {
			inv.nows.rises++
		}
	}
}
