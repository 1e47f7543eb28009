package control

import (
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/store"
)

// A node may be in several pools: one of its GPUs and one of its cores, or two
// that share its GPUs. What attempts of one pool hold there, the others must not
// give again. A share is that, of one member.
type share struct {
	pool    string
	slots   int
	devices []string
}

// account notes what an attempt holds, for the pools that it is not of.
func (d *decider) account(pool, node string, slots int, devices []string) {
	if len(d.p.Pools) < 2 || slots == 0 {
		return
	}
	if d.shares == nil {
		d.shares = map[string][]share{}
	}
	d.shares[node] = append(d.shares[node], share{pool, slots, devices})
}

// elsewhere is what attempts of other pools hold of each node.
func (d *decider) elsewhere(p *pool.Pool) map[string]cluster.Use {
	if len(d.shares) == 0 {
		return nil
	}
	slotsOf := map[string]pool.Slots{}
	for _, other := range d.p.Pools {
		slotsOf[other.Name] = other.Slots
	}
	uses := map[string]cluster.Use{}
	for node, shares := range d.shares {
		var u cluster.Use
		for _, s := range shares {
			if s.pool != p.Name {
				u = u.With(s.pool, slotsOf[s.pool], s.slots, s.devices)
			}
		}
		uses[node] = u
	}
	return uses
}

// number puts the devices of running attempts in the numbers that they have now:
// when one leaves its node, those behind it move up. What is not there any more
// keeps its attempt's size, and is no slot of anybody's.
func number(running []sched.Running, devices map[string][][]string, nodes []sched.Node) {
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

// placed is a placement as rows keep it, with the devices that its slots are.
func placed(pl sched.Placement, nodes map[string]*sched.Node) store.Placement {
	out := store.Placement{AllocationID: pl.ID}
	for rank, part := range pl.Parts {
		n := nodes[part.NodeID]
		m := store.PlacedMember{Rank: rank, NodeID: part.NodeID, NodeName: n.Name, SlotIDs: part.SlotIDs}
		for _, id := range part.SlotIDs {
			if s := n.Slot(id); s != nil && s.Device != "" {
				m.Devices = append(m.Devices, s.Device)
			}
		}
		out.Members = append(out.Members, m)
	}
	return out
}
