// Package gpus says what a node's GPUs are and which of them are fit for work.
//
// It exists because knowing and judging are different things. A Source knows: it
// lists the GPUs, measures them and passes on what the driver reports by itself.
// There are two, of NVIDIA's library and of a file that simulates it. A Monitor
// (monitor.go) judges: it remembers what was seen, so that a GPU which is suddenly
// missing is known to be lost rather than never to have been, and decides when
// one is unhealthy and when it has recovered. The Monitor is pure: time and sightings are
// its arguments.
package gpus

import (
	"context"
	"errors"
)

// A Source is where GPUs are known from. Its methods may be called from several
// goroutines.
type Source interface {
	// Scan lists the GPUs that are there now. An error means that nothing is
	// known of any of them.
	Scan() (Scan, error)
	// Measure reads what a device does at the moment.
	Measure(id string) (Sample, error)
	// Watch passes on what is reported of devices until ctx ends.
	Watch(ctx context.Context, report func(Event))
	// Close gives up what the source holds.
	Close() error
}

// A Scan is what there is at one moment.
type Scan struct {
	Driver string // version of the driver
	CUDA   string // newest version of CUDA that it knows, such as 12.4
	GPUs   []GPU
}

// A Device can be given to a task: a GPU, or a part of one (MIG).
type Device struct {
	ID         string // GPU-… or MIG-…, by which CUDA and containers know it
	Model      string
	MemoryMiB  uint64
	BusID      string // on PCI
	Capability string // compute capability, such as 9.0
	Nodes      []string
	// Instance and Compute say which part it is; -1 for a whole GPU.
	Instance, Compute int

	// What it is capable of; 0 where the driver does not say.
	PowerLimitW  float64
	CoreClockMHz uint64
	MemClockMHz  uint64
	BAR1MiB      uint64
	PCIeMBs      uint64
	Persistence  string // enabled or disabled; "" where there is no such thing
}

// A GPU is a whole one, as it is in the machine.
type GPU struct {
	Device
	// Split says that only its parts can be given (MIG is on). There may be none.
	Split bool
	Parts []Device

	Lost bool // the driver lists it and cannot reach it; only a reset brings it back
	// Unanswered is why nothing could be read of it this time, which says nothing of how
	// it is: an error of the library that passes, or a call that does not return.
	Unanswered string

	Uncorrected   uint64   // memory errors beyond repair since the driver or the GPU was reset
	RemapFailed   bool     // a row of memory could not be replaced by a spare one
	RepairPending bool     // a row or page of memory is replaced at the next reset
	Fabric        string   // what keeps it out of the NVLink fabric, in words
	Links         uint64   // which of its NVLinks are up, a bit for each
	Throttled     []string // why its hardware slows it down, in words
	Unhealthy     string   // what else is wrong with it, in words

	// Recovery is what the driver says must be done with it, in words; "" for nothing.
	// RecoveryKnown is false for drivers that do not say.
	Recovery      string
	RecoveryKnown bool
}

// ErrUnloaded says that the driver is not loaded: what happened to a GPU before then
// is over when it comes back.
var ErrUnloaded = errors.New("the driver is not loaded")

// Devices are what can be given of it.
func (g GPU) Devices() []Device {
	if g.Split {
		return g.Parts
	}
	return []Device{g.Device}
}

// An Event is what a driver reports of a GPU by itself.
type Event struct {
	ID string // of the GPU
	// Xid is the number of a critical error; 0 says only that something changed
	// which is worth another look.
	Xid uint64
	// Instance and Compute name the part that it is about; -1 for all.
	Instance, Compute int
}

// A Sample is what a device does at one moment. What is nil the driver does not tell.
type Sample struct {
	Utilization       *uint64 // percent
	MemoryUtilization *uint64 // percent of the time in which memory was read or written
	Encoder, Decoder  *uint64 // percent
	MemoryUsedMiB     *uint64
	MemoryTotalMiB    *uint64
	BAR1UsedMiB       *uint64
	PowerW            *float64
	PowerLimitW       *float64
	TemperatureC      *uint64
	CoreClockMHz      *uint64
	MemClockMHz       *uint64
	Corrected         *uint64 // memory errors since the reset
	Uncorrected       *uint64
	RemappedRows      *uint64
}
