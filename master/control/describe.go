package control

import (
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
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
	m := task.Placed{NodeID: x.NodeID, NodeName: x.NodeName, Devices: x.Devices, SlotIDs: x.SlotIDs, Uses: sched.Amount{MHz: x.MHz, MemoryMB: x.MemoryMB}}
	if len(inventory) == 0 {
		return m, nil
	}
	n, err := readInventory(nodes.Row{Name: x.NodeName, Inventory: inventory})
	m.Platform, m.Runner = n.Platform(), runnerOf(&n, of)
	if len(m.SlotIDs) == 0 {
		m.Node = task.Node{Cores: n.Cores, MHz: n.MHz}
		return m, err
	}
	m.Node = resourcesOf(&n, of)
	m.Node.Address = n.Address
	return m, err
}

// runnerOf is the path of a det-runner that a node has and that tasks of a pool can see there; "" for none. Tasks of exec see a root
// directory of their own. Docker's driver mounts files of the node only where operators have allowed volumes.
func runnerOf(n *cluster.Node, of *pool.Pool) string {
	volumes, _ := n.Fact("attr.driver.docker.volumes.enabled")
	if of.Driver == pool.RawExec || of.Driver == pool.Docker && volumes == "true" {
		path, _ := n.Fact(pool.RunnerMeta)
		return path
	}
	return ""
}

// resourcesOf is what a node has for the tasks of a pool.
func resourcesOf(n *cluster.Node, of *pool.Pool) task.Node {
	r := task.Node{Cores: n.Cores, MHz: n.MHz, FreeMHz: n.FreeMHz, FreeMemoryMB: n.FreeMemoryMB}
	for _, slot := range cluster.SlotsOf(*n, of.Slots) {
		if slot.Taken == "" {
			r.FreeSlots++
		}
	}
	return r
}

// supplyOf is the same for the scheduler, without what attempts of other pools hold; nil if the node does not say.
func supplyOf(n *cluster.Node, of *pool.Pool, elsewhere sched.Amount) *sched.Supply {
	if n.MHz == 0 || n.MemoryMB == 0 {
		return nil
	}
	s := task.SupplyOf(of, resourcesOf(n, of))
	s.Free = sched.Amount{MHz: s.Free.MHz - elsewhere.MHz, MemoryMB: s.Free.MemoryMB - elsewhere.MemoryMB}
	return &s
}
