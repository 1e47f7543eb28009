package cluster

import (
	"time"

	"github.com/detent-ml/detent/master/sched"
)

// Known is what the caller of Observe has stored before.
type Known struct {
	// Term is the term in which the caller leads. The indexes that this process has seen
	// in another term no longer count: operators may have trusted a restored Nomad since.
	Term int64
	// Index is the highest Index of an observation without an alarm.
	Index uint64
	// Live lists the attempts that were submitted and have not ended. Observe reports which
	// of them are gone.
	Live []string
	// Full requests a full list: at the beginning of a term, or when an earlier
	// observation could not be stored.
	Full bool
	// Orphans has the ids of jobs of this cluster without a row in the database. Their
	// resources count as taken.
	Orphans []string
	// Trust means that an operator confirmed the loss (det master trust-nomad): jobs that
	// Nomad does not list are gone.
	Trust bool
}

// An Observation is Nomad's state at one moment, or its changes.
type Observation struct {
	Index uint64     // Nomad's index of the lists of jobs and allocations; 0 without lists
	Full  bool       // everything was listed
	Nodes []Node     // nil if nodes were not listed
	Tasks []TaskFact // the allocations that changed; if Full, all of live attempts or that still run
	Jobs  []JobFact  // if Full: all jobs of this cluster
	Gone  []string   // if Full: live attempts whose job no longer exists
	Alarm string     // why a missing job must not count as gone; else ""
}

// A TaskFact is a Nomad allocation of one of our jobs.
type TaskFact struct {
	AllocationID string // of the attempt
	Rank         int
	NomadAllocID string
	NodeID       string
	NodeName     string
	Status       string // pending, running, complete, failed, lost, unknown
	Desired      string // run, stop, evict
	Pulling      bool   // an image or artifact is being fetched
	Started      bool   // the main task's process was started
	ExitCode     *int   // as Nomad reports it, for users; whether the attempt succeeded, only its runner reports
	Detail       string // the most informative event, for users
	Index        uint64 // ModifyIndex
	CreateIndex  uint64
	Previous     string // id of the Nomad allocation that this one replaces; else ""
}

// Over reports whether the allocation has ended in Nomad.
func (f TaskFact) Over() bool {
	return f.Status == "complete" || f.Status == "failed" || f.Status == "lost"
}

// A JobFact is a job of ours as registered.
type JobFact struct {
	AllocationID string
	JobID        string
	Status       string // pending, running, dead
	Stopped      bool
	SubmittedAt  time.Time
}

// A Node is a machine of Nomad with its resources.
type Node struct {
	sched.Node
	NodePool      string
	Datacenter    string
	Version       string
	Status        string // ready, down, disconnected, initializing
	Eligible      bool
	Draining      bool
	DrainDeadline time.Time // when Nomad stops what still runs on a draining node; zero: never
	Drivers       []string  // healthy task drivers
	Cores         int
	MHz           int // of all cores, as Nomad counts CPU
	MemoryMB      int
	// Devices by their Nomad name, vendor/type, e.g. nvidia/gpu.
	Devices map[string][]sched.Slot
	// Models has the attributes of those devices, by the same name and by their model.
	Models map[string]map[string]map[string]string
	// What jobs that are not ours leave free.
	FreeCores    int
	FreeMHz      int
	FreeMemoryMB int
	// Facts are the attributes that constraints can name, without ${ and }:
	// attr.cpu.arch, meta.rack, node.class.
	Facts map[string]string
	// HostVolumes are the node's host volumes by name; true: read-only.
	HostVolumes map[string]bool
}

// Fact is one of the node's facts, for pool.Unmet.
func (n *Node) Fact(name string) (string, bool) {
	value, found := n.Facts[name]
	return value, found
}

// Platform is <os>-<arch> of the node, as Go names them; "" if the node does not report them.
func (n *Node) Platform() string {
	system, arch := n.Facts["attr.kernel.name"], n.Facts["attr.cpu.arch"]
	if system == "" || arch == "" {
		return ""
	}
	return system + "-" + arch
}

// Outcome of a call that changes something in Nomad.
type Outcome int

// The outcomes of Submit and Stop.
const (
	Done     Outcome = iota // Nomad has the wanted state, by this call or an earlier one
	Refused                 // Nomad will never accept the change; the error says why
	TryAgain                // Nomad did not answer, or cannot make the change now
)

// String names the outcome, for logs.
func (o Outcome) String() string {
	switch o {
	case Done:
		return "done"
	case Refused:
		return "refused"
	default:
		return "try again"
	}
}
