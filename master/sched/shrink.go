package sched

import (
	"cmp"
	"fmt"
	"slices"
)

// shrink preempts tasks of groups that hold more slots than their current maximum: the
// tasks that started last first, because they lose the least work, and no more than
// necessary. shrink also works in pools without preemption, because no task of another
// group is involved.
func (p *planner) shrink() {
	held := map[string]int{} // by tasks that are not asked to end
	groups := map[string][]int{}
	for i := range p.running {
		r := &p.running[i]
		if r.MaxSlots == nil || p.leaving[i] {
			continue
		}
		held[r.Group] += r.slots()
		if r.Preemptible && r.slots() > 0 {
			groups[r.Group] = append(groups[r.Group], i)
		}
	}
	for group, members := range groups {
		most := *p.running[members[0]].MaxSlots
		if held[group] <= most {
			continue
		}
		slices.SortFunc(members, p.leastLostFirst)
		for _, i := range members {
			if held[group] <= most {
				break
			}
			r := &p.running[i]
			held[group] -= r.slots()
			p.setLeaving(i, true)
			p.result.Preempt = append(p.result.Preempt, Preemption{ID: r.ID, Reason: fmt.Sprintf("%s may use %s by now", nameOf(group, r.ID), slotsOf(most))})
		}
	}
	slices.SortFunc(p.result.Preempt, func(a, b Preemption) int { return cmp.Compare(a.ID, b.ID) })
}

// slots is how many slots the task holds.
func (r *Running) slots() int {
	n := 0
	for _, part := range r.Parts {
		n += len(part.SlotIDs)
	}
	return n
}
