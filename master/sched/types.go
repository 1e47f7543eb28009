package sched

import (
	"strconv"
	"time"
)

// A Node is a machine as Nomad describes it, less what jobs that are not ours hold.
type Node struct {
	ID          string
	Name        string
	Address     string
	Slots       []Slot
	Schedulable bool   // ready, eligible, not draining, enabled by its operators
	Why         string // why not, in words that follow the node's name: "is draining"
}

// A Slot is what a trial asks for by number: a whole device, or a share of a
// node's cores and memory.
type Slot struct {
	ID      int
	Device  string // uuid of a device; "" for a CPU slot
	Brand   string // model of the device
	Healthy bool
	Health  string // what is wrong with it, where it is not healthy
	Enabled bool
	Taken   string // the job of somebody else that holds it; "" when it is ours to give
}

// Slot finds a slot of the node by its number; nil when it has none of it.
func (n *Node) Slot(id int) *Slot {
	for i := range n.Slots {
		if n.Slots[i].ID == id {
			return &n.Slots[i]
		}
	}
	return nil
}

// Key names the slot of a node for as long as it is there: a device by itself, a
// CPU slot by its pool and its number.
func (s Slot) Key(pool string) string {
	if s.Device != "" {
		return s.Device
	}
	return pool + "/" + strconv.Itoa(s.ID)
}

// usable reports whether the slot can be given to a task of ours at all.
func (s Slot) usable() bool { return s.Healthy && s.Enabled && s.Taken == "" }

// A Request is an attempt that waits in the queue.
type Request struct {
	ID          string // allocation
	Group       string // the experiment or task it belongs to, named as sentences name it: "experiment 12"
	Slots       int    // 0 for an auxiliary task
	Priority    int    // 1 is most important
	QueuedAt    time.Time
	NotBefore   time.Time         // a pause after a failed start; zero for none
	SingleNode  bool              // may not be spread over nodes
	EqualParts  bool              // over nodes only in equal parts
	MixModels   bool              // over nodes also in parts of different models
	Preemptible bool              // what it becomes once it runs
	Exclude     []string          // node ids that it must not use
	Avoid       []string          // node ids that it uses only where no other node could ever hold it
	Because     map[string]string // by node id: why it is not used, where that is not that it failed there before
	Choice      *Choice           // what its owner says about nodes; nil for nothing
	MaxSlots    *int              // over all of its group

	Workspace string  // of its owner's job
	User      string  // its owner
	Weight    float64 // of its group; 0 counts as 1
	Served    Served

	choosy bool    // it uses only nodes of at least this score
	least  float64 // …
}

// Served has the times at which attempts of a request's workspace, of its owner in that workspace, and of its group last held
// slots of the pool, and at which an attempt of its owner, in whatever workspace, was last given slots; also of attempts
// that have ended; zero if that is not known.
type Served struct{ Workspace, User, Group, Turn time.Time }

// Running is an attempt that holds slots.
type Running struct {
	ID          string
	Group       string
	Priority    int
	StartedAt   time.Time
	Preemptible bool
	MaxSlots    *int // over all of its group
	Leaving     bool // already asked to end: planning counts its slots as free soon, but cannot assign them yet
	Parts       []Part

	Workspace string // of its owner's job
	User      string // its owner
	Weight    float64
}

// A Part is what a task holds on one node. The order of the parts is the order
// of ranks.
type Part struct {
	NodeID  string
	SlotIDs []int // empty for a task of 0 slots
}

// A Placement starts a request.
type Placement struct {
	ID    string
	Parts []Part
}

// A Preemption asks a running task to make way.
type Preemption struct {
	ID     string
	For    string // the request that needs its slots; "" if its group must hold fewer
	Reason string
}

// Result is what Plan decided. Every request is in Place or in Waiting.
type Result struct {
	Place   []Placement
	Preempt []Preemption
	Waiting map[string]string // request → why, in a sentence that a person can act on
}
