package nodes

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
	v1 "github.com/detent-ml/detent/master/v1"
)

// An Inventory reads what nodes offer to pools, and what attempts hold of it.
//
// A slot that is a device is identified by the device's id: its number is an index in its
// node's list, which changes when a device leaves the node.
type Inventory struct {
	DB    *database.DB
	Pools pool.Set
	// Offer returns what a node offers to a pool; nil if the node is not in the pool.
	Offer func(pool string, node Row) *sched.Node
}

// PoolSlots are the nodes and the slots of a pool that can run work now.
type PoolSlots struct {
	Nodes, Slots int
	PerNode      int    // the most slots of one node
	Brand        string // of a device
}

// PoolSlots counts the nodes of a pool and their slots.
func (v Inventory) PoolSlots(ctx context.Context, pool string) (PoolSlots, error) {
	list, err := List(ctx, v.DB)
	return v.countSlots(pool, list), err
}

func (v Inventory) countSlots(pool string, list []Row) (n PoolSlots) {
	for _, row := range list {
		s := v.Offer(pool, row)
		if s == nil || row.Status != nodeReady {
			continue
		}
		n.Nodes++
		n.PerNode = max(n.PerNode, len(s.Slots))
		for _, slot := range s.Slots {
			if slot.Device != "" {
				n.Brand = slot.Brand
			}
			if s.Schedulable && slot.Healthy && slot.Enabled && slot.Taken == "" {
				n.Slots++
			}
		}
	}
	return n
}

// Resources reads what live attempts hold, by the ids of the attempts.
func (v Inventory) Resources(ctx context.Context, in auth.Scope) (map[string][]v1.ResourcesSummary, error) {
	holdings, err := Holdings(ctx, v.DB, in)
	if err != nil {
		return nil, err
	}
	list, err := List(ctx, v.DB)
	if err != nil {
		return nil, err
	}
	type onNode struct{ pool, node string }
	offers := map[onNode]*sched.Node{}
	for _, p := range v.Pools {
		for _, n := range list {
			offers[onNode{p.Name, n.ID}] = v.Offer(p.Name, n)
		}
	}
	resources := map[string][]v1.ResourcesSummary{}
	for _, h := range holdings {
		devices := v.devices(h.Pool, h.SlotIDs, h.Devices, offers[onNode{h.Pool, h.NodeID}])
		resources[h.AllocationID] = append(resources[h.AllocationID], h.summary(devices))
	}
	return resources, nil
}

func (h *Holding) summary(devices []v1.Device) v1.ResourcesSummary {
	w := v1.ResourcesSummary{AllocationID: h.AllocationID, ContainerID: h.container(), ResourcesID: h.container(), ResourcesType: "nomad-allocation",
		AgentDevices: map[string]v1.ResourcesSummaryDevices{h.NodeName: {Devices: devices}}}
	if h.State == "RUNNING" && !h.Exited {
		w.Started = &v1.ResourcesStarted{NativeResourcesID: h.NomadAllocID}
	}
	if h.Exited {
		w.Exited = &v1.ResourcesStopped{}
	}
	return w
}

// container names a member in every answer, so that clients can join them: its
// Nomad allocation, or before there is one its place in the attempt.
func (h *Holding) container() string {
	return cmp.Or(h.NomadAllocID, h.AllocationID+"/"+strconv.Itoa(h.Rank))
}

// holds reports whether a member holds a slot of a pool.
func (h *Holding) holds(pool string, slot sched.Slot) bool {
	if slot.Device != "" && len(h.Devices) > 0 {
		return slices.Contains(h.Devices, slot.Device)
	}
	return h.Pool == pool && slices.Contains(h.SlotIDs, slot.ID)
}

// Devices are those of a member with these slots, for its runner; nil if its slots are no devices. The node is nil if it is gone.
func (v Inventory) Devices(pool string, node *Row, ids []int, devices []string) []v1.Device {
	if len(devices) == 0 {
		return nil
	}
	var has *sched.Node
	if node != nil {
		has = v.Offer(pool, *node)
	}
	return v.devices(pool, ids, devices, has)
}

// devices are the slots of a member, as they are now or, if they have left the node, as
// they were.
func (v Inventory) devices(pool string, ids []int, devices []string, on *sched.Node) []v1.Device {
	if on == nil {
		on = &sched.Node{}
	}
	list := []v1.Device{}
	for i, id := range ids {
		slot := sched.Slot{ID: id}
		if s := on.Slot(id); s != nil {
			slot = *s
		}
		if i < len(devices) && slot.Device != devices[i] {
			slot = byDevice(on.Slots, devices[i], id)
		}
		list = append(list, v.device(pool, slot))
	}
	return list
}

// byDevice finds a slot by its device.
func byDevice(slots []sched.Slot, device string, id int) sched.Slot {
	for _, s := range slots {
		if s.Device == device {
			return s
		}
	}
	return sched.Slot{ID: id, Device: device}
}

func (v Inventory) device(pool string, s sched.Slot) v1.Device {
	kind := v1.DeviceTypeCpu
	if p := v.Pools.Named(pool); p != nil {
		kind = slotType(p.SlotType())
	}
	return v1.Device{ID: s.ID, UUID: s.Device, Brand: s.Brand, Type: kind}
}

// slotType is a kind of slot on the wire.
func slotType(kind expconf.DeviceType) v1.DeviceType {
	switch kind {
	case expconf.CUDA:
		return v1.DeviceTypeCuda
	case expconf.ROCM:
		return v1.DeviceTypeRocm
	}
	return v1.DeviceTypeCpu
}
