package cluster

import (
	"slices"
	"strconv"

	"github.com/detent-ml/detent/master/sched"
)

// SlotKind says what a pool's slots are.
type SlotKind string

// The kinds of slots.
const (
	CPUSlots    SlotKind = "cpu"    // shares of a node's cores and memory
	DeviceSlots SlotKind = "device" // whole devices
)

// PoolSlots says how a pool cuts its nodes into slots.
type PoolSlots struct {
	Kind            SlotKind
	Device          string // Nomad's name of the device, such as nvidia/gpu
	CoresPerSlot    int
	MemoryMBPerSlot int
	MaxSlotsPerNode int // 0 for no bound
}

// SlotsMeta is the metadata of a Nomad client by which its operators say how
// many CPU slots it offers, whatever its cores and memory come to.
const SlotsMeta = "detent_slots"

// SlotsOf cuts a node into the slots of a pool. CPU slots are numbered from 0
// and follow from the node's whole size, so that a slot keeps its number for as
// long as the node is as large as it is; what jobs that are not ours hold takes
// the last ones away.
func SlotsOf(n Node, pool PoolSlots) []sched.Slot {
	if pool.Kind == DeviceSlots {
		return slices.Clone(n.Devices[pool.Device])
	}
	total, free := n.CPUSlots, n.CPUSlots
	if total == 0 {
		total = cut(n.Cores, n.MemoryMB, pool)
		free = cut(n.FreeCores, n.FreeMemoryMB, pool)
	}
	if pool.MaxSlotsPerNode > 0 {
		total, free = min(total, pool.MaxSlotsPerNode), min(free, pool.MaxSlotsPerNode)
	}
	slots := make([]sched.Slot, total)
	for i := range slots {
		slots[i] = sched.Slot{ID: i, Brand: "cpu " + strconv.Itoa(pool.CoresPerSlot), Healthy: true, Enabled: true}
		if i >= free {
			slots[i].Taken = "other jobs on this node"
		}
	}
	return slots
}

func cut(cores, memoryMB int, pool PoolSlots) int {
	return max(0, min(cores/max(pool.CoresPerSlot, 1), memoryMB/max(pool.MemoryMBPerSlot, 1)))
}
