package sched

import (
	"cmp"
	"strconv"
	"time"
)

// A Node is a machine as Nomad describes it, without the resources that other jobs of Nomad hold.
type Node struct {
	ID          string
	Name        string
	Address     string
	Slots       []Slot
	Schedulable bool    // ready, eligible, not draining, enabled by its operators
	Why         string  // why not, in words that follow the node's name: "is draining"
	Spot        bool    // the machine can go away at any time
	Rack        string  // its rack or fabric; "" if the pool does not ask or the node does not say
	Supply      *Supply `json:"-"` // its processors and memory for the tasks of a pool; nil: not known, and not counted

	like string // the node as which choices rate it, if it is one that could be added (shortage.go)
}

// rated is the id by which choices know the node.
func (n *Node) rated() string { return cmp.Or(n.like, n.ID) }

// A Slot is the unit in which trials request resources: a whole device, or a share of a node's cores
// and memory.
type Slot struct {
	ID      int
	Device  string // uuid of a device; "" for a CPU slot
	Brand   string // model of the device
	Healthy bool
	Health  string // the reason, if it is unhealthy
	Enabled bool
	Taken   string // the other job of Nomad that holds it; "" if it can be assigned
	// LinkGroup is the number of the group of the node's slots that NVLink connects with each other, or else a PCIe switch
	// or a processor; 0 for none.
	LinkGroup int `json:",omitempty"`

	kept kept // whether reservations have it (within.go)
}

// Slot finds a slot of the node by its number; nil if there is none.
func (n *Node) Slot(id int) *Slot {
	for i := range n.Slots {
		if n.Slots[i].ID == id {
			return &n.Slots[i]
		}
	}
	return nil
}

// Key identifies a slot of a node permanently: a device by its id, a CPU slot by its pool and its
// number.
func (s Slot) Key(pool string) string {
	if s.Device != "" {
		return s.Device
	}
	return pool + "/" + strconv.Itoa(s.ID)
}

// usable reports whether the slot can be assigned to a task.
func (s Slot) usable() bool { return s.Healthy && s.Enabled && s.Taken == "" && s.kept == notKept }

// A Request is an attempt that waits in the queue.
type Request struct {
	ID          string // allocation
	Group       string // its experiment, as messages name it: "experiment 12"; or the UUID of its task
	Slots       int    // 0 for an auxiliary task
	Ask         Ask
	Priority    int // 1 is most important
	QueuedAt    time.Time
	NotBefore   time.Time         // a pause after a failed start; zero for none
	SingleNode  bool              // must run on one node
	EqualParts  bool              // on several nodes only in equal parts
	MixModels   bool              // on several nodes also with different models
	Preemptible bool              // whether it can be preempted once it runs
	Exclude     []string          // node ids that it must not use
	Avoid       []string          // node ids that it uses only if no other node can ever run it
	Because     map[string]string // by node id: why it is not used, if not because of failures there
	OnSpot      bool              // runs on spot machines although it has no slots
	Choice      *Choice           // its constraints and preferences for nodes; nil for none
	MaxSlots    *int              // over all of its group

	Workspace string  // of its owner's job
	User      string  // its owner
	Weight    float64 // of its group; 0 counts as 1
	Quotas    []*Quota
	Served    Served
	Recent    Recent
	Longest   time.Duration // after its start it has ended, or may be preempted; 0: nobody knows

	by     time.Time       // when it returns the slots that are lent to it; zero: it asks for none on loan
	choosy bool            // it uses only nodes of at least this score
	least  float64         // …
	within map[string]bool // it uses only nodes of these racks; nil: of any
	into   *overlap        // the coming reservations into which it would run; nil: into none
}

// Served has the times at which attempts of a request's workspace, of its owner in that workspace, and of its group last held
// slots of the pool, and at which an attempt of its owner, in any workspace, last received slots; also of attempts
// that have ended; zero if that is not known.
type Served struct{ Workspace, User, Group, Turn time.Time }

// Running is an attempt that holds slots.
type Running struct {
	ID          string
	Group       string
	Priority    int
	StartedAt   time.Time
	Preemptible bool
	MaxSlots    *int      // over all of its group
	Saved       time.Time // if it left now, it would do again what it did since then; zero: since its start
	Leaving     bool      // already preempted: the plan counts its slots as free soon, but cannot assign them yet
	Earliest    time.Time // it is not expected to end before; zero: it may end at any time
	Latest      time.Time // it has ended by then; zero: nobody knows
	LentUntil   time.Time // its slots were lent to it until then (loans.go); zero: they were not
	Parts       []Part

	Workspace string // of its owner's job
	User      string // its owner
	Weight    float64
	Quotas    []*Quota
	Recent    Recent
}

// started is the task that a request becomes.
func (r *Request) started(now time.Time, parts []Part) Running {
	x := Running{ID: r.ID, Group: r.Group, Priority: r.Priority, StartedAt: now, Preemptible: r.Preemptible, MaxSlots: r.MaxSlots, Parts: parts,
		Workspace: r.Workspace, User: r.User, Weight: r.Weight, Quotas: r.Quotas, Recent: r.Recent}
	if r.Longest > 0 {
		x.Latest = now.Add(r.Longest)
	}
	return x
}

// A Part has the slots of a task on one node. The parts are in the order of the ranks.
type Part struct {
	NodeID  string
	SlotIDs []int  // empty for a task of 0 slots
	Uses    Amount // beside its slots; zero: not known
}

// A Placement starts a request.
type Placement struct {
	ID        string
	Parts     []Part
	LentUntil time.Time // its slots are lent: it has ended by then, before a more important request could use them; zero: they are not
}

// A Preemption is a running task that must free its slots.
type Preemption struct {
	ID     string
	For    string // the request that needs its slots; "" if its group must hold fewer
	Reason string
}

// Result is what Plan decided. Every request is in Place or in Waiting.
type Result struct {
	Place   []Placement
	Preempt []Preemption
	Waiting map[string]string // by request: the reason, as a sentence for users
	Full    map[string]bool   // the requests that wait for slots which others hold

	promised map[string]bool // those of them to which slots are promised
}
