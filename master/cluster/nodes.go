package cluster

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/sched"
)

// use is what jobs that are not ours hold on one node.
type use struct {
	mhz      int64
	memoryMB int64
	devices  map[string]string // device id → job
}

// listNodes lists all nodes, with the resources that other jobs leave free.
func (c *Cluster) listNodes(ctx context.Context) ([]Node, error) {
	var stubs []*api.NodeListStub
	_, err := pages(ctx, c, c.cfg.Namespace, func(q *api.QueryOptions) ([]*api.NodeListStub, *api.QueryMeta, error) {
		q.Params = map[string]string{"resources": "true"}
		return c.api.Nodes().List(q)
	}, func(n *api.NodeListStub) { stubs = append(stubs, n) })
	if err != nil {
		return nil, err
	}
	uses, err := c.othersUse(ctx)
	if err != nil {
		return nil, err
	}
	nodes := each.Of(stubs, func(stub *api.NodeListStub) Node { return nodeOf(stub, uses[stub.ID]) })
	if err := c.readDetails(ctx, stubs, nodes); err != nil {
		return nil, err
	}
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return nodes, nil
}

// othersUse adds up what orphans and jobs that are not ours hold, by node, in all
// namespaces that the token may read.
func (c *Cluster) othersUse(ctx context.Context) (map[string]use, error) {
	var strange []*api.AllocationListStub
	uses := map[string]use{}
	_, err := pages(ctx, c, api.AllNamespacesNamespace, func(q *api.QueryOptions) ([]*api.AllocationListStub, *api.QueryMeta, error) {
		q.Filter = `ClientStatus == "running" or ClientStatus == "pending" or ClientStatus == "unknown"`
		q.Params = map[string]string{"resources": "true", "task_states": "false"}
		return c.api.Allocations().List(q)
	}, func(a *api.AllocationListStub) {
		owner, known := c.seen.owners[jobKey{a.Namespace, a.JobID}]
		switch {
		case !known && strings.HasPrefix(a.JobID, jobspecs.JobPrefix()):
			strange = append(strange, a) // perhaps ours, submitted after the list of jobs
		case owner == "" || slices.Contains(c.seen.orphans, a.JobID):
			uses[a.NodeID] = uses[a.NodeID].with(a)
		}
	})
	if err != nil {
		return nil, err
	}
	ids := each.Of(strange, func(a *api.AllocationListStub) string { return a.ID })
	if _, err := c.readAllocations(ctx, ids); err != nil {
		return nil, err
	}
	for _, a := range strange {
		if c.seen.owners[jobKey{a.Namespace, a.JobID}] == "" {
			uses[a.NodeID] = uses[a.NodeID].with(a)
		}
	}
	return uses, nil
}

func (u use) with(a *api.AllocationListStub) use {
	if a.AllocatedResources == nil {
		return u
	}
	for _, task := range a.AllocatedResources.Tasks {
		if task == nil {
			continue
		}
		u.mhz += task.Cpu.CpuShares
		u.memoryMB += task.Memory.MemoryMB
		for _, d := range task.Devices {
			if u.devices == nil {
				u.devices = map[string]string{}
			}
			for _, id := range d.DeviceIDs {
				u.devices[id] = a.JobID
			}
		}
	}
	return u
}

// nodeOf converts a node of Nomad's list.
func nodeOf(stub *api.NodeListStub, others use) Node {
	n := Node{
		Node:     sched.Node{ID: stub.ID, Name: stub.Name, Address: stub.Address},
		NodePool: stub.NodePool, Datacenter: stub.Datacenter, Version: stub.Version, Status: stub.Status,
		Eligible: stub.SchedulingEligibility == api.NodeSchedulingEligible, Draining: stub.Drain,
		Devices: map[string][]sched.Slot{},
	}
	switch {
	case n.Status != api.NodeStatusReady:
		n.Why = "is " + n.Status
	case n.Draining:
		n.Why = "is draining in Nomad"
	case !n.Eligible:
		n.Why = "is not eligible in Nomad"
	default:
		n.Schedulable = true
	}
	for name, d := range stub.Drivers {
		if d != nil && d.Detected && d.Healthy {
			n.Drivers = append(n.Drivers, name)
		}
	}
	slices.Sort(n.Drivers)
	if r := stub.NodeResources; r != nil {
		n.measure(r, stub.ReservedResources, others)
		n.addDevices(r.Devices, others)
	}
	return n
}

// measure sets the cores and memory of a node, and what other jobs leave free. A core of
// which other jobs use less than half counts as free: Nomad's CPU shares are no hard
// limit, and small jobs of the operators should not cost a slot each.
func (n *Node) measure(r *api.NodeResources, reserved *api.NodeReservedResources, others use) {
	mhz, memory := r.Cpu.CpuShares, r.Memory.MemoryMB
	if reserved != nil {
		mhz -= int64(reserved.Cpu.CpuShares)
		memory -= int64(reserved.Memory.MemoryMB)
	}
	n.MHz, n.MemoryMB = max(0, int(mhz)), max(0, int(memory))
	n.FreeMHz, n.FreeMemoryMB = max(0, int(mhz-others.mhz)), max(0, int(memory-others.memoryMB))
	if r.Cpu.TotalCpuCores > 0 && r.Cpu.CpuShares > 0 {
		perCore := float64(r.Cpu.CpuShares) / float64(r.Cpu.TotalCpuCores)
		n.Cores = int(float64(n.MHz)/perCore + 0.5)
		n.FreeCores = int(float64(n.FreeMHz)/perCore + 0.5)
	}
}

// addDevices lists devices by vendor and type, in a stable order.
func (n *Node) addDevices(models []*api.NodeDeviceResource, others use) {
	groups := map[string]int{} // link groups by vendor and type
	for _, group := range models {
		if group == nil {
			continue
		}
		kind := group.Vendor + "/" + group.Type
		n.addModel(kind, group)
		linked := linkGroups(group, groups[kind])
		for _, d := range group.Instances {
			if d != nil {
				n.Devices[kind] = append(n.Devices[kind], sched.Slot{
					Device: d.ID, Brand: group.Name, Healthy: d.Healthy, Health: healthOf(d), Enabled: true, Taken: others.devices[d.ID],
					LinkGroup: linked[d.ID],
				})
				groups[kind] = max(groups[kind], linked[d.ID])
			}
		}
	}
	for _, slots := range n.Devices {
		slices.SortFunc(slots, func(a, b sched.Slot) int {
			return cmp.Or(cmp.Compare(a.Brand, b.Brand), cmp.Compare(a.Device, b.Device))
		})
		for i := range slots {
			slots[i].ID = i
		}
	}
}

// maxAttribute bounds the text of an attribute of devices.
const maxAttribute = 256

// addModel records the attributes of a group of devices by the model of the group. If a node has two groups of one
// model, it keeps only the attributes that are equal in both.
func (n *Node) addModel(kind string, group *api.NodeDeviceResource) {
	attributes := map[string]string{}
	for name, a := range group.Attributes {
		if a == nil || name == linkedAttribute {
			continue
		}
		if text := a.String(); text != "" && len(text) <= maxAttribute {
			attributes[name] = text
		}
	}
	if n.Models == nil {
		n.Models = map[string]map[string]map[string]string{}
	}
	if n.Models[kind] == nil {
		n.Models[kind] = map[string]map[string]string{}
	}
	if known, twice := n.Models[kind][group.Name]; twice {
		maps.DeleteFunc(attributes, func(name, value string) bool { return known[name] != value })
	}
	n.Models[kind][group.Name] = attributes
}

// healthOf returns why a device is unhealthy, in the words of its plugin; "" if it is healthy.
func healthOf(d *api.NodeDevice) string {
	if d.Healthy {
		return ""
	}
	return cmp.Or(d.HealthDescription, "its device plugin in Nomad reports it as unhealthy, without a reason")
}
