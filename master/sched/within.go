package sched

import (
	"maps"
	"slices"

	"github.com/detent-ml/detent/master/each"
)

// kept says whether a slot is that of a reservation in a plan of other slots.
type kept int8

const (
	notKept    kept = iota
	heldThere       // a task has it, with its share of the node's processors and memory
	keptThere       // no task has it; its share is kept, too
	otherThere      // the plan is that of a reservation, and the slot is not of it
)

// within plans the requests of a reservation's owner on its slots, and returns those that are to be planned elsewhere.
func (s *site) within(v *spot, queued []Request) (rest []Request) {
	var own []Request
	for i := range queued {
		if r := &queued[i]; r.Slots > 0 && v.owns(r.Workspace, r.User) {
			own = append(own, *r)
		}
	}
	if len(own) == 0 || len(v.slots) == 0 {
		return queued
	}
	in := plan(s.of, s.inside(v), s.near(v, own), own, s.spots, s.now)
	s.settle(in, own)
	for id, why := range in.Waiting {
		switch {
		case in.promised[id]:
			s.promised[id] = why
		case in.Full[id]:
			s.waiting[id] = why
		}
	}
	decided := each.Set(in.Place, func(p Placement) string { return p.ID })
	maps.Copy(decided, in.promised)
	return slices.DeleteFunc(slices.Clone(queued), func(r Request) bool { return decided[r.ID] })
}

// settle makes running tasks of the requests that were placed, and counts the slots of those who were asked to leave as free soon.
func (s *site) settle(in Result, own []Request) {
	s.place = append(s.place, in.Place...)
	s.preempts = append(s.preempts, in.Preempt...)
	leave := each.Set(in.Preempt, func(p Preemption) string { return p.ID })
	for i := range s.running {
		s.running[i].Leaving = s.running[i].Leaving || leave[s.running[i].ID]
	}
	byID := make(map[string]*Request, len(own))
	for i := range own {
		byID[own[i].ID] = &own[i]
	}
	for _, p := range in.Place {
		s.running = append(s.running, byID[p.ID].started(s.now, p.Parts))
	}
}

// near lists the running tasks that matter to the requests of an owner: those on the nodes of the reservation, and those that quotas, bounds of groups and shares count together with them.
func (s *site) near(v *spot, own []Request) []Running {
	workspaces, users := map[string]bool{}, map[string]bool{}
	for i := range own {
		workspaces[own[i].Workspace], users[own[i].User] = true, true
	}
	var list []Running
	for i := range s.running {
		r := &s.running[i]
		there := slices.ContainsFunc(r.Parts, func(part Part) bool { return v.slots[part.NodeID] != nil })
		if there || workspaces[r.Workspace] || users[r.User] {
			list = append(list, *r)
		}
	}
	return list
}

// inside lists the nodes of a reservation with its slots only.
func (s *site) inside(v *spot) (nodes []Node) {
	for _, n := range s.nodes {
		if v.slots[n.ID] == nil {
			continue
		}
		n.Slots = slices.Clone(n.Slots)
		for j := range n.Slots {
			if !v.hasSlot(n.ID, n.Slots[j].ID) {
				n.Slots[j].kept = otherThere
			}
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// outside lists all nodes without the slots of the reservations that have begun, and without the processors and memory that are the shares of those of
// them that no task holds.
func (s *site) outside() []Node {
	held := map[string]map[int]bool{}
	for i := range s.running {
		for _, part := range s.running[i].Parts {
			if held[part.NodeID] == nil {
				held[part.NodeID] = map[int]bool{}
			}
			for _, id := range part.SlotIDs {
				held[part.NodeID][id] = true
			}
		}
	}
	nodes := slices.Clone(s.nodes)
	for i := range nodes {
		n := &nodes[i]
		for _, v := range s.spots {
			if v.has(s.now) && v.slots[n.ID] != nil {
				n.without(v, held[n.ID])
			}
		}
	}
	return nodes
}

// without marks the slots of a reservation.
func (n *Node) without(v *spot, held map[int]bool) {
	n.Slots = slices.Clone(n.Slots)
	empty := 0
	for j := range n.Slots {
		switch id := n.Slots[j].ID; {
		case !v.hasSlot(n.ID, id):
		case held[id]:
			n.Slots[j].kept = heldThere
		default:
			n.Slots[j].kept = keptThere
			empty++
		}
	}
	if n.Supply != nil && empty > 0 {
		less := *n.Supply
		less.Free = less.Free.minus(less.Slot.times(empty))
		n.Supply = &less
	}
}
