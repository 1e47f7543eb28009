package cluster

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
)

// others is the holder of slots that jobs which are not ours have taken.
const others = "other jobs"

// SlotsOf divides a node into the slots of a pool, for the scheduler. held are the ids of
// slots that running attempts hold. Other jobs take a number of cores but no particular CPU
// slots, so SlotsOf marks as many slots that are not held as taken, the highest ids first.
func SlotsOf(n Node, cut pool.Slots, held ...int) []sched.Slot {
	if cut.Kind == pool.DeviceSlots {
		slots := slices.Clone(n.Devices[cut.Device])
		for i := range slots {
			slots[i].ID = i
		}
		return slots[:cut.AtMost(len(slots))]
	}
	total := cut.AtMost(cut.OfNode(n.Cores, n.MHz, n.MemoryMB))
	free := min(total, cut.OfNode(n.FreeCores, n.FreeMHz, n.FreeMemoryMB))
	if set := cmp.Or(cut.PerNode, cut.AtMost(n.setSlots())); set > 0 {
		total, free = set, set
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

// MetaSlots is the metadata of a node with which operators set its number of CPU slots, if the pool does not set it.
const MetaSlots = "detent_slots"

// maxSetSlots bounds that number.
const maxSetSlots = 10_000

// setSlots is the number of CPU slots that the node's metadata sets; 0 for none, or if it is not such a number.
func (n *Node) setSlots() int {
	count, err := strconv.Atoi(n.Facts["meta."+MetaSlots])
	if err != nil || count < 0 || count > maxSetSlots {
		return 0
	}
	return count
}

// Use is what attempts of other pools hold on a node that is in several pools.
type Use struct {
	Cores, MemoryMB int
	Devices         map[string]string // device id → the pool whose attempt holds it
	Held            sched.Amount      // as Nomad counts it
}

// With returns the use with one more attempt, of the pool `of`.
func (u Use) With(of string, cut pool.Slots, slots int, devices []string) Use {
	u.Cores += slots * cut.CoresPerSlot
	u.MemoryMB += slots * cut.MemoryMBPerSlot
	for _, id := range devices {
		if u.Devices == nil {
			u.Devices = map[string]string{}
		}
		u.Devices[id] = of
	}
	return u
}

// Less returns the node without what attempts of other pools hold.
func (n Node) Less(u Use) Node {
	n.FreeCores, n.FreeMemoryMB = max(0, n.FreeCores-u.Cores), max(0, n.FreeMemoryMB-u.MemoryMB)
	if len(u.Devices) == 0 {
		return n
	}
	devices := make(map[string][]sched.Slot, len(n.Devices))
	for kind, slots := range n.Devices {
		slots = slices.Clone(slots)
		for i := range slots {
			if other, held := u.Devices[slots[i].Device]; held && slots[i].Taken == "" {
				slots[i].Taken = "pool " + other
			}
		}
		devices[kind] = slots
	}
	n.Devices = devices
	return n
}
