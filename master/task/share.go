package task

import (
	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/pool"
)

// What a task gets of its node, as Nomad is told. Nomad keeps others' jobs off what
// it was told, so it is told the truth: a slot's cores at their clock, and its memory.
const (
	// A task of no slots gets a little of everything.
	auxMHz = 100
	// slotMHz is what a core counts where an operator has said how many slots a node
	// has, whatever its size: what such a slot is nobody knows.
	slotMHz = 100
	// pagesMemoryMB is what JupyterLab with a kernel, or TensorBoard beside
	// TensorFlow, needs at least. Nomad enforces it under every driver.
	pagesMemoryMB = 1024
	// SlotMemoryMB is that of a slot of which nothing else is known.
	SlotMemoryMB = 1024
	// roomPart of a node, one in so many parts, is left to tasks without slots and to
	// what else is small there.
	roomPart = 8
)

// A Placed is a member of an attempt that has its place on a node.
type Placed struct {
	NodeID   string
	NodeName string
	SlotIDs  []int
	Devices  []string // that its slots are, by Nomad's ids; none where slots are none
	Platform string   // of its node, <os>-<arch>; "" where that is not known
	Node     Node
}

// A Node is what a member's node has, as Nomad counts it; zero where that is not known.
type Node struct {
	Address      string
	Cores        int
	MHz          int // of all cores
	FreeMHz      int // after jobs that are not ours
	FreeMemoryMB int // the same
	FreeSlots    int // of the pool; the same
}

// member gives a member its share of its node.
func (m Placed) member(a *Attempt, of *pool.Pool) jobspecs.Member {
	j := jobspecs.Member{NodeID: m.NodeID, NodeName: m.NodeName, Address: m.Node.Address, SlotIDs: m.SlotIDs, DeviceIDs: m.Devices, MemoryMB: of.AuxMemoryMB, MHz: auxMHz}
	if n := len(j.SlotIDs); n > 0 {
		memory, mhz := slotShare(of.Slots, m.Node)
		j.MemoryMB, j.MHz, j.MemoryMaxMB = n*memory, n*mhz, n*of.Slots.MemoryMaxMBPerSlot
		if of.Slots.WholeCores {
			j.Cores = n * of.Slots.CoresPerSlot
		}
	}
	if a.Type == Notebook || a.Type == Tensorboard {
		j.MemoryMB = max(j.MemoryMB, pagesMemoryMB)
	}
	if asked := a.memory(); asked != nil {
		j.MemoryMB = int((int64(*asked) + 1<<20 - 1) >> 20)
	}
	return j
}

// slotShare is what one slot of a node is worth. Slots that are devices share what
// the node has, unless the pool says how much memory comes with each.
func slotShare(cut pool.Slots, n Node) (memoryMB, mhz int) {
	memoryMB, mhz = cut.MemoryMBPerSlot, max(cut.CoresPerSlot, 1)*slotMHz
	free := n.FreeSlots
	known := free > 0 && cut.PerNode == 0
	if known && n.Cores > 0 {
		mhz = min(max(cut.CoresPerSlot, 1)*n.MHz/n.Cores, (n.FreeMHz-n.FreeMHz/roomPart)/free)
	}
	if cut.MHzPerSlot > 0 { // its operators know
		mhz = cut.MHzPerSlot
	}
	if memoryMB == 0 && known {
		memoryMB = (n.FreeMemoryMB - n.FreeMemoryMB/roomPart) / free
	}
	if memoryMB == 0 {
		memoryMB = SlotMemoryMB
	}
	return memoryMB, mhz
}
