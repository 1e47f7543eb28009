package sched

import (
	"fmt"
	"slices"
)

// tooShortLived reports whether a node may go away at any time, and a task of 0 slots must not be there: such
// tasks are mostly notebooks and servers, which store no checkpoints.
func (inv *inventory) tooShortLived(r *Request, node int) bool {
	return inv.nodes[node].Spot && !inv.pool.AuxOnSpot && !r.OnSpot
}

// takesAux reports whether a request of 0 slots could run on a node if nothing else ran there.
func (f *fit) takesAux(r *Request, node int) bool {
	return f.mayRunAux(r, node) && f.carries(f.capacity, r, node, 0)
}

func (f *fit) mayRunAux(r *Request, node int) bool {
	return f.nodes[node].Schedulable && f.pool.MaxAux > 0 && !f.bars(r, node) && !f.tooShortLived(r, node)
}

// considerAux places a task of 0 slots on the node that has the fewest of them: of those that are best for it, and first
// of those where it leaves the fewest slots unused. The first one that finds no processors or memory has room kept for it,
// unless it is late: over a soft bound.
func (p *planner) considerAux(r *Request, late bool) {
	if p.bounded(r, nil, late) {
		return
	}
	alike := p.about(r)
	best, score, spoiled, lacks := -1, 0.0, 0, false
	for i := range p.nodes {
		if len(r.Exclude) == 0 && alike.without == p.nows.rises { // like room
			break
		}
		if p.aux[i] >= p.pool.MaxAux || !p.takesAux(r, i) {
			continue
		}
		of := 0.0
		p.looks++
		if !p.carries(p.nows, r, i, 0) {
			lacks = true
			continue
		}
		if r.draws() {
			p.looks += len(r.Choice.Spread)
			of = p.score(r, i)
		}
		spoils := p.spoiledOn(p.nows, r, i, 0)
		if best < 0 || spoils < spoiled || spoils == spoiled && (of > score || of == score && p.aux[i] < p.aux[best]) {
			best, score, spoiled = i, of, spoils
		}
	}
	if best < 0 {
		p.wait(r, p.whySoft(r, p.whyNow(r)))
		if len(r.Exclude) == 0 {
			alike.without = p.nows.rises
		}
		if lacks && p.auxHead == nil && !late {
			p.protectAux(r)
		}
		return
	}
	part := p.partOn(r, best, 0)
	p.aux[best]++
	p.opens.moves++ // what is free has changed
	p.rooms[best].give(part.Uses, 0, false)
	p.start(r, Placement{ID: r.ID, Parts: []Part{part}})
}

// protectAux keeps processors and memory for r: from here on, requests get only what does not delay it.
func (p *planner) protectAux(r *Request) {
	p.auxHead = r
	for i := range p.nodes {
		if p.takesAux(r, i) {
			p.rooms[i].protect([]int{0}, r.Ask)
		}
	}
	if p.ahead == nil {
		p.ahead = r
	}
}

// whyAux explains a request of 0 slots that waits.
func (e *explainer) whyAux(r *Request) string {
	if e.schedulable == 0 {
		return e.whyNoNode()
	}
	if e.pool.MaxAux <= 0 {
		return fmt.Sprintf("pool %s accepts no tasks of 0 slots (its max_aux_containers_per_agent is %d)", e.pool.Name, e.pool.MaxAux)
	}
	if why := e.whyExcluded(r); why != "" {
		return why
	}
	if !slices.ContainsFunc(e.nodes, func(n Node) bool { return n.Schedulable && !e.tooShortLived(r, e.nodeIndex[n.ID]) }) {
		return fmt.Sprintf("tasks of 0 slots do not run on spot machines, and pool %s has no other node in order; an operator can allow it with aux_on_spot", e.pool.Name)
	}
	best := -1 // the node that has most memory
	for i := range e.nodes {
		e.looks++
		switch {
		case e.aux[i] >= e.pool.MaxAux || !e.mayRunAux(r, i):
		case e.carries(e.opens, r, i, 0):
			if e.ahead != nil {
				return e.policy.behind(e.ahead)
			}
		case best < 0 || e.roomOn(e.opens, i).MemoryMB > e.roomOn(e.opens, best).MemoryMB:
			best = i
		}
	}
	if best >= 0 {
		return fmt.Sprintf("node %s of pool %s has the most room, but %s%s", e.nodes[best].label(), e.pool.Name, e.lacking(e.opens, r, best, 0), e.asides(r))
	}
	return fmt.Sprintf("every node of pool %s is full with tasks of 0 slots (max_aux_containers_per_agent is %d)%s",
		e.pool.Name, e.pool.MaxAux, e.asides(r))
}
