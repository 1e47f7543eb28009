package task

import (
	"cmp"
	"math"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/pool"
)

// The CPU and memory that a task's job requests from Nomad. Nomad does not place other jobs on
// these, so the values are realistic: the MHz of a slot's cores, and its memory.
const (
	// auxMHz is the CPU of a task without slots.
	auxMHz = 100
	// slotMHz is the CPU of a slot if operators set the number of slots of a node
	// (slots_per_node, or detent_slots of the node), because the size of such a slot is unknown; less if that many do not fit.
	slotMHz = 100
	// pagesMemoryMB is the minimum memory for JupyterLab with a kernel, or for TensorBoard with
	// TensorFlow. Nomad enforces the limit under every driver.
	pagesMemoryMB = 1024
	// SlotMemoryMB is the memory of a slot if nothing else is known.
	SlotMemoryMB = 1024
	// 1/roomPart of a node is left to tasks without slots and to other small jobs.
	roomPart = 8
)

// A Placed is a member of an attempt that is placed on a node.
type Placed struct {
	NodeID   string
	NodeName string
	SlotIDs  []int
	Devices  []string // Nomad's ids of its slots' devices; empty if the slots are cores
	Platform string   // of its node, <os>-<arch>; "": unknown
	Node     Node
}

// A Node has the resources of a member's node, as Nomad counts them; zero: unknown.
type Node struct {
	Address      string
	Cores        int
	MHz          int // of all cores
	FreeMHz      int // without what other jobs hold
	FreeMemoryMB int // without what other jobs hold
	FreeSlots    int // slots of the pool that other jobs do not hold
}

// member returns a member with its CPU and memory.
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
	cpus, memory := a.asked()
	if memory != nil {
		j.MemoryMB = int((int64(*memory) + 1<<20 - 1) >> 20)
	}
	if cpus != nil {
		if m.Node.Cores > 0 {
			j.MHz = max(1, int(*cpus*float64(m.Node.MHz)/float64(m.Node.Cores)))
		}
		if j.Cores > 0 {
			j.Cores = int(math.Ceil(*cpus))
		}
	}
	return j
}

// slotShare returns the memory and CPU of one slot. Slots that are devices divide the node's
// resources among them, unless the pool sets the memory of each.
func slotShare(cut pool.Slots, n Node) (memoryMB, mhz int) {
	memoryMB, mhz = cut.MemoryMBPerSlot, max(cut.CoresPerSlot, 1)*slotMHz
	free := n.FreeSlots
	known := free > 0 && cut.PerNode == 0
	if known && n.Cores > 0 {
		mhz = max(cut.CoresPerSlot, 1) * n.MHz / n.Cores
	}
	if free > 0 && n.Cores > 0 {
		mhz = min(mhz, (n.FreeMHz-n.FreeMHz/roomPart)/free)
	}
	if cut.MHzPerSlot > 0 { // set by operators
		mhz = cut.MHzPerSlot
	}
	if memoryMB == 0 && known {
		memoryMB = (n.FreeMemoryMB - n.FreeMemoryMB/roomPart) / free
	}
	memoryMB = cmp.Or(memoryMB, SlotMemoryMB)
	return memoryMB, mhz
}
