package control

import (
	"fmt"
	"time"

	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/store"
)

// evictionReason returns why an attempt must leave its node: an operator has disabled the
// node, or a slot of the attempt, without --drain. "" if the attempt may stay.
//
// A drain in Nomad with a deadline, and a notice that the machine leaves, evict trials only: a trial
// that is preempted before the deadline can store a checkpoint and continue on another node. A drain
// without a deadline evicts nothing.
func (d *decider) evictionReason(a *store.LiveAllocation, trial bool) string {
	if d.outOfUse == nil {
		d.outOfUse, d.leaves = map[string]*store.NodeRow{}, map[string]*departure{}
		for i := range d.p.Nodes {
			n := &d.p.Nodes[i]
			goes := d.p.leaving(n)
			if goes != nil {
				d.leaves[n.ID] = goes
			}
			if !n.Enabled || len(n.SlotsOff) > 0 || n.Draining || goes != nil {
				d.outOfUse[n.ID] = n
			}
		}
	}
	if len(d.outOfUse) == 0 {
		return ""
	}
	for _, m := range a.Members {
		n := d.outOfUse[m.NodeID]
		switch {
		case n == nil:
		case !n.Enabled && !n.DrainWanted:
			return fmt.Sprintf("node %s was disabled", n.Name)
		case trial && n.Draining && n.DrainDeadline != nil:
			return fmt.Sprintf("node %s is drained in Nomad until %s", n.Name, n.DrainDeadline.UTC().Format(time.RFC3339))
		case trial && d.leaves[m.NodeID] != nil:
			return fmt.Sprintf("node %s %s", n.Name, d.leaves[m.NodeID])
		default:
			for i, id := range m.SlotIDs {
				s := sched.Slot{ID: int(id)}
				if i < len(m.Devices) {
					s.Device = m.Devices[i]
				}
				if drain, off := n.SlotsOff[s.Key(a.Pool)]; off && !drain {
					return fmt.Sprintf("slot %d of node %s was disabled", id, n.Name)
				}
			}
		}
	}
	return ""
}
