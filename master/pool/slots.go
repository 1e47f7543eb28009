package pool

// A SlotKind is the kind of a pool's slots: parts of a node's CPUs, or devices.
type SlotKind string

// The kinds.
const (
	CPUSlots    SlotKind = "cpu"
	DeviceSlots SlotKind = "device"
)

// Slots describes how a pool divides its nodes into slots.
type Slots struct {
	Kind   SlotKind
	Device string // vendor/type in Nomad, for slots that are devices
	// The cores and the memory of a CPU slot; 0 if a slot is not measured by it.
	CoresPerSlot    int
	MemoryMBPerSlot int
	// From the pool's job: the MHz of a slot, in place of cores; whether no other task may use the cores of a slot;
	// and the memory that a slot may use while the node has it free.
	MHzPerSlot         int
	WholeCores         bool
	MemoryMaxMBPerSlot int

	MaxPerNode int // 0 for no limit
	PerNode    int // number of CPU slots on every node, regardless of its size; 0: it follows from the size
}

// OfNode returns how many CPU slots a node with these cores and this memory has.
func (s Slots) OfNode(cores, mhz, memoryMB int) int {
	n := -1
	switch {
	case s.MHzPerSlot > 0:
		n = mhz / s.MHzPerSlot
	case s.CoresPerSlot > 0:
		n = cores / s.CoresPerSlot
	}
	if s.MemoryMBPerSlot > 0 {
		if m := memoryMB / s.MemoryMBPerSlot; n < 0 || m < n {
			n = m
		}
	}
	return max(n, 0)
}

// AtMost limits a number of slots to the maximum of a node.
func (s Slots) AtMost(n int) int {
	if s.MaxPerNode > 0 {
		return min(n, s.MaxPerNode)
	}
	return n
}
