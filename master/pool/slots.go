package pool

// A SlotKind is what slots are made of.
type SlotKind string

// The kinds.
const (
	CPUSlots    SlotKind = "cpu"
	DeviceSlots SlotKind = "device"
)

// Slots says how a pool cuts its nodes into slots.
type Slots struct {
	Kind   SlotKind
	Device string // vendor/type in Nomad, for slots that are devices
	// A CPU slot is so many cores and so much memory; 0 leaves one of them out.
	CoresPerSlot    int
	MemoryMBPerSlot int
	// What the pool's job says of a slot: MHz in the place of cores, whole cores that
	// nobody else may use, and memory up to which it may grow while the node has it.
	MHzPerSlot         int
	WholeCores         bool
	MemoryMaxMBPerSlot int

	MaxPerNode int // 0 for no limit
	PerNode    int // so many CPU slots on every node, regardless of its size; 0 cuts them by size
}

// OfNode is how many CPU slots so much of a node makes.
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

// AtMost keeps a number of slots within what a node may have.
func (s Slots) AtMost(n int) int {
	if s.MaxPerNode > 0 {
		return min(n, s.MaxPerNode)
	}
	return n
}
