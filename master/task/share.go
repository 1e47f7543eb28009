package task

import (
	"cmp"
	"math"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sched"
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
	Runner   string   // the path of a det-runner that its node has and the pool's tasks can see; "": none
	Node     Node
	Uses     sched.Amount // as the scheduler has counted it; zero: attempts that an earlier release placed
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
	cpus, memory := a.asked()
	supply := SupplyOf(of, m.Node)
	uses := cmp.Or(m.Uses, supply.Of(AskOf(a.Type, optional.Value(cpus), int64(optional.Value(memory))), len(m.SlotIDs)))
	j := jobspecs.Member{NodeID: m.NodeID, NodeName: m.NodeName, Address: m.Node.Address, SlotIDs: m.SlotIDs, DeviceIDs: m.Devices, MemoryMB: uses.MemoryMB, MHz: uses.MHz}
	if n := len(j.SlotIDs); n > 0 {
		j.MemoryMaxMB = n * of.Slots.MemoryMaxMBPerSlot
		if j.Cores = wholeCores(of.Slots) * n; j.Cores > 0 && cpus != nil {
			j.Cores = int(math.Ceil(*cpus))
		}
	}
	return j
}

// AskOf is what a task of this type, "" for a trial, asks for by resources.cpus and resources.memory, which are 0 if not set.
func AskOf(kind string, cpus float64, memory int64) sched.Ask {
	ask := sched.Ask{CPUs: cpus, MemoryMB: int((memory + 1<<20 - 1) >> 20)}
	if kind == Notebook || kind == Tensorboard {
		ask.LeastMemoryMB = pagesMemoryMB
	}
	return ask
}

// SupplyOf is what a node has for tasks of a pool, of which none has come yet.
func SupplyOf(of *pool.Pool, n Node) sched.Supply {
	memory, mhz := slotShare(of.Slots, n)
	return sched.Supply{Free: sched.Amount{MHz: n.FreeMHz, MemoryMB: n.FreeMemoryMB}, Slot: sched.Amount{MHz: mhz, MemoryMB: memory},
		Aux: sched.Amount{MHz: auxMHz, MemoryMB: of.AuxMemoryMB}, Least: sched.Amount{MHz: jobspecs.MinimalMHz, MemoryMB: jobspecs.MinimalMemoryMB},
		MHz: n.MHz, Cores: n.Cores, CoresPerSlot: wholeCores(of.Slots)}
}

// wholeCores is how many cores a slot has that no other task may use; 0: it has MHz.
func wholeCores(cut pool.Slots) int {
	if cut.WholeCores {
		return cut.CoresPerSlot
	}
	return 0
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
