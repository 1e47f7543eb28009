package cluster

import (
	"time"

	"github.com/detent-ml/detent/master/sched"
)

// An Observation is what Nomad said at one moment.
type Observation struct {
	Index uint64     // of the allocation list
	Full  bool       // a complete list: what is missing from it may be gone
	Nodes []Node     // nil when they were not asked for
	Tasks []TaskFact // one per Nomad allocation of a job of ours
	Jobs  []JobFact  // jobs of this cluster, whether they have allocations or not (full only)
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

// A JobFact is a job of ours as registered.
type JobFact struct {
	AllocationID string
	JobID        string
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
	DrainDeadline time.Time
	Drivers       []string // healthy ones
	CPUSlots      int      // by its operators' word (SlotsMeta); 0 leaves it to cores and memory
	Cores         int
	MemoryMB      int
	// Devices by their Nomad name, vendor/type, e.g. nvidia/gpu.
	Devices map[string][]sched.Slot
	// FreeCores and FreeMemoryMB are what is left after jobs that are not ours.
	FreeCores    int
	FreeMemoryMB int
}

// Outcome of a call that changes something in Nomad.
type Outcome int

// The outcomes, told apart in one table that a test holds against the real server.
const (
	Done     Outcome = iota // it is so now, whether by this call or an earlier one
	Refused                 // Nomad will never accept it; the error says why
	TryAgain                // no answer, or not now
)
