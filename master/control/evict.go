package control

import (
	"fmt"
	"time"

	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/store"
)

// evictionReason says why an attempt has to leave where it is: operators have taken its
// node, or a slot of it, out of use and did not say that what runs there may run to
// its end. "" where it may stay.
//
// A drain of Nomad's counts for trials, which go on elsewhere from a checkpoint that
// they would not have at the drain's deadline. One without a deadline lets what runs
// there run to its end.
func (d *decider) evictionReason(a *store.LiveAllocation, trial bool) string {
	if d.outOfUse == nil {
		d.outOfUse = map[string]*store.NodeRow{}
		for i := range d.p.Nodes {
			if n := &d.p.Nodes[i]; !n.Enabled || len(n.SlotsOff) > 0 || n.Draining {
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
