package sched

import (
	"slices"
	"strings"
	"time"
)

// Coming reservations withhold slots from requests that would run into them.
//
// For each set of reservations into which some requests would run, an overlap says how many slots of each block they need, and how many slots of it are held
// by tasks that will have left by then, or are the owner's. A request may use what is free, less what is needed and not covered by these tasks.
// So requests that end in time may use all slots, and they do not delay one that does not: as soon as they have ended, the slots that they
// held are needed, and others are not any more.

// An overlap is what requests may not use that would run into the same reservations. Requests with the same overlap share one.
type overlap struct {
	with  []*spot
	set   uint64    // their bits
	first time.Time // when the first of them begins
	soon  bool      // … which is within reserveLead
	need  []int     // of each block: the slots of the reservations, at most
	gone  []int     // of each block: held by tasks that will have left, or that are of the owner
	shut  []bool    // of each node: a maintenance is coming; nil: none is
}

// runsInto reports whether a request would run into a reservation.
func (r *Request) runsInto(v *spot, now time.Time) bool {
	switch {
	case !now.Before(v.From) || v.owns(r.Workspace, r.User):
		return false
	case r.Longest > 0 && !now.Add(r.Longest).After(v.From):
		return false
	}
	return !r.Preemptible || v.From.Sub(now) <= reserveLead
}

// foresee finds for each request the reservations into which it would run.
func (p *planner) foresee(queued []Request, spots []*spot) {
	p.spots = spots
	spots = slices.DeleteFunc(slices.Clone(spots), func(v *spot) bool { return !p.now.Before(v.From) })
	if len(spots) == 0 {
		return
	}
	p.stakes = p.stakesOf(spots)
	known := map[uint64]*overlap{0: nil}
	for i := range queued {
		set := uint64(0)
		for _, v := range spots {
			if queued[i].runsInto(v, p.now) {
				set |= v.bit
			}
		}
		o, found := known[set]
		if !found {
			o = p.overlapOf(set, spots)
			known[set] = o
			p.overlaps = append(p.overlaps, o)
		}
		queued[i].into = o
	}
}

func (p *planner) overlapOf(set uint64, spots []*spot) *overlap {
	var with []*spot
	for _, v := range spots {
		if set&v.bit != 0 {
			with = append(with, v)
		}
	}
	o := p.overlapWith(with)
	for i := range p.running {
		if !p.leaving[i] && o.outlivedBy(&p.running[i], p.now) {
			for _, h := range p.holds[i] {
				o.gone[h.block] += h.n
			}
		}
	}
	return o
}

// laterOverlap has all reservations into which a request could run, whenever it starts; nil: there are none.
func (p *planner) laterOverlap(r *Request) *overlap {
	var with []*spot
	for _, v := range p.spots {
		if p.now.Before(v.From) && !v.owns(r.Workspace, r.User) {
			with = append(with, v)
		}
	}
	if len(with) == 0 {
		return nil
	}
	return p.overlapWith(with)
}

// A stake is how many slots of a block a coming reservation has.
type stake struct {
	of *spot
	n  int
}

// stakesOf lists the stakes of each block, the first to begin first.
func (p *planner) stakesOf(spots []*spot) [][]stake {
	stakes := make([][]stake, len(p.blocks))
	for _, v := range slices.SortedStableFunc(slices.Values(spots), func(a, b *spot) int { return a.From.Compare(b.From) }) {
		for node, ids := range v.slots {
			at, there := p.nodeIndex[node]
			if !there {
				continue
			}
			for i := p.blocksOf[at].from; i < p.blocksOf[at].to; i++ {
				n := 0
				for _, id := range ids {
					if _, has := slices.BinarySearch(p.blocks[i].slots, id); has {
						n++
					}
				}
				if n > 0 {
					stakes[i] = append(stakes[i], stake{v, n})
				}
			}
		}
	}
	return stakes
}

// overlapWith is the overlap with these reservations, without the tasks that will have left.
func (p *planner) overlapWith(with []*spot) *overlap {
	o := &overlap{with: with, need: make([]int, len(p.blocks)), gone: make([]int, len(p.blocks)), first: with[0].From}
	for _, v := range o.with {
		o.set |= v.bit
		if v.From.Before(o.first) {
			o.first = v.From
		}
		for _, id := range v.shuts {
			if node, there := p.nodeIndex[id]; there {
				if o.shut == nil {
					o.shut = make([]bool, len(p.nodes))
				}
				o.shut[node] = true
			}
		}
	}
	o.soon = o.first.Sub(p.now) <= reserveLead
	var at []stake
	for i, here := range p.stakes {
		o.need[i], at = o.neededOf(here, at)
	}
	return o
}

// neededOf is how many slots of a block the reservations need at the same time, at most. They need the most when one of them begins. It uses the
// memory of at, and returns it.
func (o *overlap) neededOf(here, at []stake) (most int, _ []stake) {
	at = at[:0] // that have not ended when the next one begins: no more than the block has slots
	sum := 0
	for _, v := range here {
		if o.set&v.of.bit == 0 {
			continue
		}
		sum, at = sum+v.n, append(at, v)
		at = slices.DeleteFunc(at, func(w stake) bool {
			over := !v.of.From.Before(w.of.Until)
			if over {
				sum -= w.n
			}
			return over
		})
		most = max(most, sum)
	}
	return most, at
}

// isOf reports whether all of the reservations are of the same owner as a task.
func (o *overlap) isOf(workspace, user string) bool {
	return !slices.ContainsFunc(o.with, func(v *spot) bool { return !v.owns(workspace, user) })
}

// outlivedBy reports whether the reservations outlive a running task: it does not stand in their way, now or when they begin.
func (o *overlap) outlivedBy(r *Running, now time.Time) bool {
	return r.endsBy(o.first, now) || !o.soon && r.Preemptible || o.isOf(r.Workspace, r.User)
}

// outlives is outlivedBy for a request that starts now.
func (o *overlap) outlives(r *Request, now time.Time) bool {
	return r.Longest > 0 && !now.Add(r.Longest).After(o.first) || !o.soon && r.Preemptible || o.isOf(r.Workspace, r.User)
}

// given counts slots that a request gets now or later, in all overlaps.
func (p *planner) given(r *Request, h hold) {
	for _, o := range p.overlaps {
		if o.outlives(r, p.now) {
			o.gone[h.block] += h.n
		}
	}
}

// vacated counts slots of a running task that leaves, or with -1 stays.
func (p *planner) vacated(i, times int) {
	for _, o := range p.overlaps {
		if o.outlivedBy(&p.running[i], p.now) {
			for _, h := range p.holds[i] {
				o.gone[h.block] -= times * h.n
			}
		}
	}
}

// withheld is how many slots of a block that a shelf shows a request may not use, because reservations need them.
func (inv *inventory) withheld(s *shelf, r *Request, b int) int {
	switch s {
	case inv.early:
		return 0
	case inv.capacity:
		return r.into.need[b]
	}
	return max(0, r.into.need[b]-r.into.gone[b])
}

// mayHurry reports whether a request ends before the reservations that the head must not run into.
func (inv *inventory) mayHurry(r *Request) bool {
	return inv.guarded == nil || inv.guarded.outlives(r, inv.now)
}

// grants reports whether reservations leave a request so many slots of a block, of those that a shelf shows.
func (inv *inventory) grants(s *shelf, r *Request, b, slots int) bool {
	x := &inv.blocks[b]
	if s == inv.nows && slots > x.tight && !inv.mayHurry(r) {
		return false
	}
	if r.into == nil {
		return true
	}
	shown := s.at[b]
	if s == inv.nows { // without what is kept for the head, for whom the slots are withheld, too
		shown = x.lendable()
	}
	return slots <= shown-inv.withheld(s, r, b)
}

// reservedFor completes the sentence of a request that may not use slots or nodes because of reservations.
func (e *explainer) reservedFor(r *Request) string {
	var parts []string
	for _, v := range e.spots {
		switch began := !e.now.Before(v.From); {
		case len(v.slots) == 0 || v.owns(r.Workspace, r.User):
		case began || r.into != nil && slices.Contains(r.into.with, v):
			parts = append(parts, v.says(r.Workspace))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	text := "; " + strings.Join(parts[:min(len(parts), maxListed)], ", ")
	if len(parts) > maxListed {
		text += " and others"
	}
	return text
}

// whyShut says why a request does not use a node that will be in maintenance; "" if that is not why.
func (r *Request) whyShut(id string) string {
	if r.into != nil {
		for _, v := range r.into.with {
			if slices.Contains(v.shuts, id) {
				return "which is in maintenance " + v.when()
			}
		}
	}
	return ""
}
