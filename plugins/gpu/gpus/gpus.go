// Package gpus describes the GPUs of a node, and decides which of them are healthy.
//
// A Source describes: it lists the GPUs, measures them and forwards events of the driver. There are
// two sources: NVIDIA's library, and a file that simulates it. A Monitor (monitor.go) decides: it
// remembers the GPUs, so that a missing GPU is reported as lost, and decides when a GPU is
// unhealthy and when it has recovered. The Monitor is pure: times and scans are its arguments.
package gpus

import (
	"context"
	"errors"
)

// A Source provides GPUs. Its methods may be called from several goroutines.
type Source interface {
	// Scan lists the present GPUs. After an error, the state of all GPUs is unknown.
	Scan() (Scan, error)
	// Measure reads the current values of a device.
	Measure(id string) (Sample, error)
	// Watch forwards the events of devices until ctx ends.
	Watch(ctx context.Context, report func(Event))
	// Close releases the resources of the source.
	Close() error
}

// A Scan is the state at one moment.
type Scan struct {
	Driver string // version of the driver
	CUDA   string // newest version of CUDA that it supports, such as 12.4
	GPUs   []GPU
	// Linked are the groups of GPUs that are closer to each other than to the rest, by the ids of the GPUs: by NVLink, or else
	// behind a PCIe switch or of a processor. Empty if all are equally close.
	Linked [][]string
}

// A Device can be assigned to a task: a GPU, or a part of one (MIG).
type Device struct {
	ID         string // GPU-… or MIG-…, as in CUDA and containers
	Model      string
	MemoryMiB  uint64
	BusID      string // on PCI
	Capability string // compute capability, such as 9.0
	Nodes      []string
	// Instance and Compute identify a part; -1 for a whole GPU.
	Instance, Compute int

	// Limits of the hardware; 0 if the driver does not report them.
	PowerLimitW  float64
	CoreClockMHz uint64
	MemClockMHz  uint64
	BAR1MiB      uint64
	PCIeMBs      uint64
	Persistence  string // enabled or disabled; "": not supported
}

// A GPU is a whole GPU of the machine.
type GPU struct {
	Device
	// Split means that only its parts can be assigned (MIG is on). It may have no parts.
	Split bool
	Parts []Device

	Lost bool // the driver lists it and cannot reach it; only a reset helps
	// Unanswered is why nothing could be read in this scan, which does not mean that the GPU is
	// unhealthy: a temporary error of the library, or a call that does not return.
	Unanswered string

	Uncorrected   uint64   // uncorrectable memory errors since the reset of the driver or the GPU
	RemapFailed   bool     // a row of memory could not be replaced by a spare one
	RepairPending bool     // a row or page of memory is replaced at the next reset
	Fabric        string   // why it is not part of the NVLink fabric, in words
	Links         uint64   // which of its NVLinks are up, a bit for each
	Throttled     []string // why its hardware slows it down, in words
	Unhealthy     string   // other problems, in words

	// Recovery is the driver's recommended action, in words; "" for none. RecoveryKnown is false
	// for drivers without recommendations.
	Recovery      string
	RecoveryKnown bool
}

// ErrUnloaded means that the driver is not loaded: earlier errors of a GPU end when the driver is
// loaded again.
var ErrUnloaded = errors.New("the driver is not loaded")

// Devices are the assignable devices of the GPU.
func (g GPU) Devices() []Device {
	if g.Split {
		return g.Parts
	}
	return []Device{g.Device}
}

// An Event is a report of the driver about a GPU.
type Event struct {
	ID string // of the GPU
	// Xid is the number of a critical error; 0 means that the GPU's state may have changed.
	Xid uint64
	// Instance and Compute identify the part; -1 for the whole GPU.
	Instance, Compute int
}

// A Sample is the values of a device at one moment. A nil value is not reported by the driver.
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
