package cluster

import (
	"time"

	"github.com/detent-ml/detent/master/sched"
)

// Known is what the caller's rows say, without which an absence means nothing.
type Known struct {
	// Term is under which the caller leads. What this process was shown under another
	// counts no more: operators may have trusted an older Nomad since.
	Term int64
	// Index is the highest index that an observation without an alarm has carried.
	Index uint64
	// Live lists the attempts that were submitted and have not ended. Only of
	// them it is asked whether they are gone.
	Live []string
	// Full asks for a complete list now: at the beginning of a term, or when an
	// earlier observation could not be stored.
	Full bool
	// Orphans are jobs of this cluster that no attempt's row knows, by their ids: what they
	// hold is nobody's to give.
	Orphans []string
	// Trust says that the operators have looked, and that what Nomad lacks now is
	// indeed gone.
	Trust bool
}

// An Observation is what Nomad said at one moment.
type Observation struct {
	Index uint64     // of the lists of jobs and allocations; 0 when none was asked for
	Full  bool       // a complete list was made
	Nodes []Node     // nil when they were not asked for
	Tasks []TaskFact // the allocations that changed; all that matter when Full
	Jobs  []JobFact  // jobs of this cluster, whether they have allocations or not (full only)
	Gone  []string   // live attempts whose job does not exist any more (full only)
	Alarm string     // why nothing may be concluded from absence; "" when it may
}

// A TaskFact is one Nomad allocation of one of our jobs.
type TaskFact struct {
	AllocationID string // ours
	Rank         int
	NomadAllocID string
	NodeID       string
	NodeName     string
	Status       string // pending, running, complete, failed, lost, unknown
	Desired      string // run, stop, evict
	Pulling      bool   // an image or artifact is being fetched
	Started      bool   // the main task's process was started
	ExitCode     *int   // Nomad's word, for the reader; success is the runner's to report
	Detail       string // the last event worth telling
	Index        uint64 // ModifyIndex
	CreateIndex  uint64
	Previous     string // the Nomad allocation that this one replaces
}

// Over says whether nothing of it runs any more, by Nomad's word.
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

// A Node is a machine with all the pools it can serve.
type Node struct {
	sched.Node
	NodePool      string
	Datacenter    string
	Version       string
	Status        string // ready, down, disconnected, initializing
	Eligible      bool
	Draining      bool
	DrainDeadline time.Time // when what still runs is ended; zero when it is not
	Drivers       []string  // healthy ones
	Cores         int
	MHz           int // of all cores, as Nomad counts them
	MemoryMB      int
	// Devices by their Nomad name, vendor/type, e.g. nvidia/gpu.
	Devices map[string][]sched.Slot
	// What is left after jobs that are not ours.
	FreeCores    int
	FreeMHz      int
	FreeMemoryMB int
	// Facts are what constraints ask of the node, by the names between the braces of ${…}:
	// attr.cpu.arch, meta.rack, node.class.
	Facts map[string]string
	// HostVolumes are the folders that the node offers to jobs, by name: whether they can
	// only be read.
	HostVolumes map[string]bool
}

// Fact is one of the node's facts, for pool.Unmet.
func (n *Node) Fact(name string) (string, bool) {
	value, found := n.Facts[name]
	return value, found
}

// Platform is the node's, <os>-<arch> in Go's words; "" where it does not say.
func (n *Node) Platform() string {
	system, arch := n.Facts["attr.kernel.name"], n.Facts["attr.cpu.arch"]
	if system == "" || arch == "" {
		return ""
	}
	return system + "-" + arch
}

// A Workload is what a verified identity says.
type Workload struct {
	Namespace    string
	JobID        string
	Group        string
	NomadAllocID string
	// FirstOfGroup is false when Nomad made this allocation to replace another:
	// the gate refuses it.
	FirstOfGroup bool
	NodeID       string
}

// Outcome of a call that changes something in Nomad.
type Outcome int

// The outcomes, told apart in one table that a test holds against the real server.
const (
	Done     Outcome = iota // it is so now, whether by this call or an earlier one
	Refused                 // Nomad will never accept it; the error says why
	TryAgain                // no answer, or not now
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
