package sched

import (
	"cmp"
	"fmt"
	"slices"
)

// rankCandidates orders the tasks that may be asked to leave by their priority: the least
// important first, of those the youngest, whose lost work is least.
func (p *planner) rankCandidates() []int {
	if !p.pool.Preemption {
		return nil
	}
	var candidates []int
	for i := range p.running {
		if p.mayLeave(i) {
			candidates = append(candidates, i)
		}
	}
	slices.SortFunc(candidates, func(i, j int) int {
		a, b := &p.running[i], &p.running[j]
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), p.youngerFirst(i, j))
	})
	return candidates
}

// mayLeave reports whether a running task can be asked to leave, and holds slots that somebody
// else could use.
func (inv *inventory) mayLeave(i int) bool {
	return inv.running[i].Preemptible && !inv.leaving[i] && len(inv.holds[i]) > 0
}

func (inv *inventory) youngerFirst(i, j int) int {
	a, b := &inv.running[i], &inv.running[j]
	return cmp.Or(b.StartedAt.Compare(a.StartedAt), cmp.Compare(a.ID, b.ID))
}

// makeWay asks tasks of lower priority to leave.
func (q *byPriority) makeWay(r *Request) []hold {
	at := 0
	picks := q.p.makeWay(r, victims{
		next: func() int {
			if at == len(q.candidates) || q.p.running[q.candidates[at]].Priority <= r.Priority {
				return -1
			}
			at++
			return q.candidates[at-1]
		},
		spare:  func(int) {},
		gains:  func() bool { return true },
		reason: fmt.Sprintf("preempted for %s (priority %d)", nameOf(r.Group, r.ID), r.Priority),
	})
	if picks != nil {
		q.candidates = slices.DeleteFunc(q.candidates, func(i int) bool { return q.p.leaving[i] })
	}
	return picks
}

func (q *byPriority) left(int) {
	q.candidates = slices.DeleteFunc(q.candidates, func(i int) bool { return q.p.leaving[i] })
}

// victims are running tasks that may be asked to leave for a request, by their index.
type victims struct {
	next   func() int  // the next of them, first the one that should leave first; -1 if there is no more
	spare  func(i int) // a task that next returned stays
	gains  func() bool // reports whether it is right that those leave that were not spared
	reason string
}

// makeWay asks tasks to leave for r, and returns the slots that it will then have; nil, and
// nobody is asked, where that is not enough.
//
// Tasks are added until the request fits, which keeps the victim that should leave last as
// early in their order as can be; then each one that it fits without is let off, the later
// ones first, so that nobody leaves for nothing.
func (p *planner) makeWay(r *Request, from victims) []hold {
	var chosen []int
	var picks []hold
	for picks == nil {
		i := from.next()
		if i < 0 {
			break
		}
		chosen = append(chosen, i)
		p.setLeaving(i, true)
		picks = p.find(p.laters, r)
	}
	var needed []int
	if picks != nil {
		picks, needed = p.letOff(r, chosen, picks, from.spare)
	} else {
		needed = chosen
	}
	if picks == nil || !from.gains() {
		for _, i := range needed {
			p.setLeaving(i, false)
			from.spare(i)
		}
		return nil
	}
	for _, i := range needed {
		p.result.Preempt = append(p.result.Preempt, Preemption{ID: p.running[i].ID, For: r.ID, Reason: from.reason})
	}
	return picks
}

// letOff lets those stay that the request fits without. It does not fit without the last one.
func (p *planner) letOff(r *Request, chosen []int, picks []hold, spare func(int)) (left []hold, needed []int) {
	last := len(chosen) - 1
	needed = []int{chosen[last]}
	for _, i := range slices.Backward(chosen[:last]) {
		p.setLeaving(i, false)
		if fewer := p.find(p.laters, r); fewer != nil {
			picks = fewer
			spare(i)
			continue
		}
		p.setLeaving(i, true)
		needed = append(needed, i)
	}
	return picks, needed
}

// setLeaving counts the slots of a running task among those that become free, or takes them back.
func (p *planner) setLeaving(i int, leaving bool) {
	p.leaving[i] = leaving
	if r := &p.running[i]; len(r.Quotas) > 0 {
		slots := r.slots()
		if !leaving {
			slots = -slots
		}
		p.addHeld(r.Quotas, 0, slots)
	}
	for _, h := range p.holds[i] {
		if leaving {
			p.blocks[h.block].leaving += h.n
		} else {
			p.blocks[h.block].leaving -= h.n
		}
		p.changed(h.block)
	}
}
