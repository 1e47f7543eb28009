package control

import (
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/task"
)

// describe returns the Nomad job of an attempt, from the attempt's rows.
func (t *term) describe(s rows.PendingSubmission, of *pool.Pool) (task.Job, error) {
	a, err := task.Read(s.Row)
	if err != nil {
		return task.Job{}, err
	}
	if err := t.mayMount(&a, &s); err != nil {
		return task.Job{}, err
	}
	members := make([]task.Placed, len(s.Members))
	for i, x := range s.Members {
		if members[i], err = placedOn(x, s.Nodes[x.NodeID], of); err != nil {
			return task.Job{}, err
		}
	}
	return t.cfg.Task(a, members, of)
}

// placedOn returns a member with the resources of its node, from the node's inventory.
func placedOn(x rows.LiveMember, inventory []byte, of *pool.Pool) (task.Placed, error) {
	m := task.Placed{NodeID: x.NodeID, NodeName: x.NodeName, Devices: x.Devices, SlotIDs: x.SlotIDs}
	if len(inventory) == 0 {
		return m, nil
	}
	n, err := readInventory(nodes.Row{Name: x.NodeName, Inventory: inventory})
	m.Platform = n.Platform()
	if len(m.SlotIDs) == 0 {
		m.Node = task.Node{Cores: n.Cores, MHz: n.MHz}
		return m, err
	}
	m.Node = task.Node{Address: n.Address, Cores: n.Cores, MHz: n.MHz, FreeMHz: n.FreeMHz, FreeMemoryMB: n.FreeMemoryMB}
	for _, slot := range cluster.SlotsOf(n, of.Slots) {
		if slot.Taken == "" {
			m.Node.FreeSlots++
		}
	}
	return m, err
}
