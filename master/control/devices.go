package control

import (
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
)

// A share is what a member of an attempt holds on a node. A node can be in several pools,
// for example one for its GPUs and one for its cores; a pool's scheduler must not assign
// what attempts of another pool hold.
type share struct {
	pool    string
	slots   int
	devices []string // ids of devices; empty if the slots are cores
	uses    sched.Amount
}

// account records a share of a node, if there are several pools.
func (d *queuePass) account(node string, s share) {
	if len(d.p.Pools) < 2 {
		return
	}
	if d.shares == nil {
		d.shares = map[string][]share{}
	}
	d.shares[node] = append(d.shares[node], s)
}

// elsewhere returns what attempts of other pools hold, by node.
func (d *queuePass) elsewhere(p *pool.Pool) map[string]cluster.Use {
	return elsewhere(p, d.p.Pools, d.shares)
}

func elsewhere(p *pool.Pool, pools pool.Set, all map[string][]share) map[string]cluster.Use {
	if len(all) == 0 {
		return nil
	}
	slotsOf := each.Map(pools, func(other pool.Pool) (string, pool.Slots) { return other.Name, other.Slots })
	uses := map[string]cluster.Use{}
	for node, shares := range all {
		var u cluster.Use
		for _, s := range shares {
			if s.pool != p.Name {
				u = u.With(s.pool, slotsOf[s.pool], s.slots, s.devices)
				u.Held.MHz += s.uses.MHz
				u.Held.MemoryMB += s.uses.MemoryMB
			}
		}
		uses[node] = u
	}
	return uses
}

// renumber sets the slot ids of running attempts to the numbers that their devices have
// now: if a device disappears from its node, the numbers of the devices after it change. A
// device that no longer exists gets the slot id -1, so that the attempt keeps its size.
func renumber(running []sched.Running, devices map[string][][]string, nodes []sched.Node) {
	type key struct{ node, device string }
	now := map[key]int{}
	for _, n := range nodes {
		for _, s := range n.Slots {
			now[key{n.ID, s.Device}] = s.ID
		}
	}
	for i := range running {
		for k, ids := range devices[running[i].ID] {
			if len(ids) == 0 || k >= len(running[i].Parts) {
				continue
			}
			part := &running[i].Parts[k]
			part.SlotIDs = part.SlotIDs[:0:0]
			for _, id := range ids {
				n, there := now[key{part.NodeID, id}]
				if !there {
					n = -1
				}
				part.SlotIDs = append(part.SlotIDs, n)
			}
		}
	}
}

// placed returns a placement as its row has it, with the devices of its slots.
func placed(pl sched.Placement, nodes map[string]*sched.Node) rows.Placement {
	out := rows.Placement{AllocationID: pl.ID, LentUntil: optional.NonZero(pl.LentUntil)}
	for rank, part := range pl.Parts {
		n := nodes[part.NodeID]
		m := rows.PlacedMember{Rank: rank, NodeID: part.NodeID, NodeName: n.Name, SlotIDs: part.SlotIDs, MHz: part.Uses.MHz, MemoryMB: part.Uses.MemoryMB}
		for _, id := range part.SlotIDs {
			if s := n.Slot(id); s != nil && s.Device != "" {
				m.Devices, m.Model = append(m.Devices, s.Device), s.Brand // all of one model
			}
		}
		out.Members = append(out.Members, m)
	}
	return out
}
