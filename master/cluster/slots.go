package cluster

import (
	"slices"

	"github.com/detent-ml/detent/master/sched"
)

// SlotKind is what a pool's slots are made of.
type SlotKind string

// The kinds.
const (
	CPUSlots    SlotKind = "cpu"
	DeviceSlots SlotKind = "device"
)

// PoolSlots says how a pool cuts its nodes into slots.
type PoolSlots struct {
	Kind   SlotKind
	Device string // vendor/type in Nomad, for slots that are devices
	// A CPU slot is so many cores and so much memory; 0 leaves one of them out.
	CoresPerSlot    int
	MemoryMBPerSlot int
	MaxSlotsPerNode int // 0 for no limit
	PerNode         int // so many CPU slots on every node, whatever its size; 0 cuts them by size
}

// others is who holds what is not free: Nomad's jobs that are not ours.
const others = "other jobs"

// SlotsOf cuts a node into the slots of a pool, for the scheduler. held are the
// ids of those that running tasks of ours hold there: which CPU slots make up
// what other jobs have taken is a matter of counting, so it is the ones that
// nobody of ours sits on, the highest first.
func SlotsOf(n Node, pool PoolSlots, held ...int) []sched.Slot {
	if pool.Kind == DeviceSlots {
		slots := slices.Clone(n.Devices[pool.Device])
		for i := range slots {
			slots[i].ID = i
		}
		return slots[:bound(len(slots), pool)]
	}
	total := bound(cut(n.Cores, n.MemoryMB, pool), pool)
	free := min(total, cut(n.FreeCores, n.FreeMemoryMB, pool))
	if pool.PerNode > 0 {
		total, free = pool.PerNode, pool.PerNode
	}
	slots := make([]sched.Slot, total)
	for i := range slots {
		slots[i] = sched.Slot{ID: i, Healthy: true, Enabled: true}
	}
	for i, taken := total-1, total-free; i >= 0 && taken > 0; i-- {
		if !slices.Contains(held, i) {
			slots[i].Taken = others
			taken--
		}
	}
	return slots
}

// Use is what attempts of some pools hold of a node, for the other pools that the
// node is in.
type Use struct {
	Cores, MemoryMB int
	Devices         map[string]string // by id: which pool's attempts hold it
}

// With adds an attempt of a pool to it.
func (u Use) With(pool string, cut PoolSlots, slots int, devices []string) Use {
	u.Cores += slots * cut.CoresPerSlot
	u.MemoryMB += slots * cut.MemoryMBPerSlot
	for _, id := range devices {
		if u.Devices == nil {
			u.Devices = map[string]string{}
		}
		u.Devices[id] = pool
	}
	return u
}

// Less is the node without what is held of it.
func (n Node) Less(u Use) Node {
	n.FreeCores, n.FreeMemoryMB = max(0, n.FreeCores-u.Cores), max(0, n.FreeMemoryMB-u.MemoryMB)
	if len(u.Devices) == 0 {
		return n
	}
	devices := make(map[string][]sched.Slot, len(n.Devices))
	for kind, slots := range n.Devices {
		slots = slices.Clone(slots)
		for i := range slots {
			if pool, held := u.Devices[slots[i].Device]; held && slots[i].Taken == "" {
				slots[i].Taken = "pool " + pool
			}
		}
		devices[kind] = slots
	}
	n.Devices = devices
	return n
}

func bound(n int, pool PoolSlots) int {
	if pool.MaxSlotsPerNode > 0 {
		return min(n, pool.MaxSlotsPerNode)
	}
	return n
}

// cut is how many CPU slots so much makes.
func cut(cores, memoryMB int, pool PoolSlots) int {
	n := -1
	if pool.CoresPerSlot > 0 {
		n = cores / pool.CoresPerSlot
	}
	if pool.MemoryMBPerSlot > 0 {
		if m := memoryMB / pool.MemoryMBPerSlot; n < 0 || m < n {
			n = m
		}
	}
	return max(n, 0)
}
