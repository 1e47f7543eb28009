package control

import (
	"fmt"
	"time"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/sched"
)

// eviction returns what an attempt must do because of its node, and why. ActionNone if it may stay.
//
// A node or slot that an operator has disabled without --drain is needed at once: what runs there is killed, as
// in Determined, and a trial continues elsewhere from its last checkpoint. A drain in Nomad with a deadline, and a
// notice that the machine leaves, preempt trials only: a trial that stores a checkpoint before the deadline loses
// nothing. A drain without a deadline evicts nothing.
func (d *attemptPass) eviction(a *rows.LiveAllocation, trial bool) (lifecycle.Action, string) {
	if d.outOfUse == nil {
		d.outOfUse, d.leaves = map[string]*nodes.Row{}, map[string]*departure{}
		for i := range d.p.Nodes {
			n := &d.p.Nodes[i]
			goes := d.p.leaving(n)
			if goes != nil {
				d.leaves[n.ID] = goes
			}
			if !n.Enabled || len(n.DisabledSlots) > 0 || n.Draining || goes != nil {
				d.outOfUse[n.ID] = n
			}
		}
	}
	if len(d.outOfUse) == 0 {
		return lifecycle.ActionNone, ""
	}
	for _, m := range a.Members {
		n := d.outOfUse[m.NodeID]
		switch {
		case n == nil:
		case !n.Enabled && !n.DrainWanted:
			return lifecycle.ActionKill, fmt.Sprintf("node %s was disabled", n.Name)
		case trial && n.Draining && n.DrainDeadline != nil:
			return lifecycle.ActionPreempt, fmt.Sprintf("node %s is drained in Nomad until %s", n.Name, n.DrainDeadline.UTC().Format(time.RFC3339))
		case trial && d.leaves[m.NodeID] != nil:
			return lifecycle.ActionPreempt, fmt.Sprintf("node %s %s", n.Name, d.leaves[m.NodeID])
		default:
			for i, id := range m.SlotIDs {
				s := sched.Slot{ID: id}
				if i < len(m.Devices) {
					s.Device = m.Devices[i]
				}
				if drain, off := n.DisabledSlots[s.Key(a.Pool)]; off && !drain {
					return lifecycle.ActionKill, fmt.Sprintf("slot %d of node %s was disabled", id, n.Name)
				}
			}
		}
	}
	return lifecycle.ActionNone, ""
}
