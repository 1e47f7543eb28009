package sched

import (
	"cmp"
	"fmt"
	"slices"
)

// rankCandidates orders the tasks that may be asked to leave: the least
// important first, of those the youngest, whose lost work is least.
func (p *planner) rankCandidates() {
	if !p.pool.Preemption {
		return
	}
	for i := range p.running {
		if p.running[i].Preemptible && !p.leaving[i] && len(p.holds[i]) > 0 {
			p.candidates = append(p.candidates, i)
		}
	}
	slices.SortFunc(p.candidates, func(i, j int) int {
		a, b := &p.running[i], &p.running[j]
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), b.StartedAt.Compare(a.StartedAt), cmp.Compare(a.ID, b.ID))
	})
}

// makeWay asks less important tasks to leave for r, and returns the slots that
// it will then have; nil, and nobody is asked, where that is not enough.
//
// Candidates are added until the request fits, which keeps the most important
// victim as unimportant as can be; then each one that it fits without is let
// off, the more important ones first, so that nobody leaves for nothing.
func (p *planner) makeWay(r *Request) []hold {
	var victims []int
	var picks []hold
	for _, i := range p.candidates {
		if p.running[i].Priority <= r.Priority {
			break
		}
		victims = append(victims, i)
		p.setLeaving(i, true)
		if picks = p.find(p.laters, r); picks != nil {
			break
		}
	}
	if picks == nil {
		for _, i := range victims {
			p.setLeaving(i, false)
		}
		return nil
	}
	needed := victims[len(victims)-1:] // it did not fit without the last one
	for _, i := range slices.Backward(victims[:len(victims)-1]) {
		p.setLeaving(i, false)
		if fewer := p.find(p.laters, r); fewer != nil {
			picks = fewer
			continue
		}
		p.setLeaving(i, true)
		needed = append(needed, i)
	}
	for _, i := range needed {
		p.result.Preempt = append(p.result.Preempt, Preemption{
			ID: p.running[i].ID, For: r.ID,
			Reason: fmt.Sprintf("preempted for %s (priority %d)", nameOf(r.Group, r.ID), r.Priority),
		})
	}
	p.candidates = slices.DeleteFunc(p.candidates, func(i int) bool { return p.leaving[i] })
	return picks
}

// setLeaving counts the slots of a running task among those that become free, or takes them back.
func (p *planner) setLeaving(i int, leaving bool) {
	p.leaving[i] = leaving
	for _, h := range p.holds[i] {
		if leaving {
			p.blocks[h.block].leaving += h.n
		} else {
			p.blocks[h.block].leaving -= h.n
		}
		p.changed(h.block)
	}
}
