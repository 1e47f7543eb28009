package simulated

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/detent-ml/detent/plugins/gpu/gpus"
)

// A State is the content of the file that describes the simulated GPUs.
type State struct {
	Driver string `yaml:"driver,omitempty"`
	CUDA   string `yaml:"cuda,omitempty"`
	// Error makes the driver answer every call with this error.
	Error string `yaml:"error,omitempty"`
	// Hang makes every scan of the GPUs wait until the file no longer sets it.
	Hang bool  `yaml:"hang,omitempty"`
	GPUs []GPU `yaml:"gpus"`
}

// A GPU describes one GPU, or with a count several equal ones.
type GPU struct {
	Count      int    `yaml:"count,omitempty"`
	ID         string `yaml:"id,omitempty"` // GPU-…; derived from the seed if empty
	Model      string `yaml:"model,omitempty"`
	MemoryMiB  uint64 `yaml:"memory_mib,omitempty"`
	Capability string `yaml:"capability,omitempty"`

	Unhealthy   string   `yaml:"sick,omitempty"`         // why it is unhealthy
	Lost        bool     `yaml:"lost,omitempty"`         // fallen off the bus
	Uncorrected uint64   `yaml:"uncorrected,omitempty"`  // uncorrectable memory errors
	RemapFailed bool     `yaml:"remap_failed,omitempty"` // of a row of its memory
	Xids        []uint64 `yaml:"xids,omitempty"`         // critical errors in order; each one that is added is reported once

	Unanswered    string   `yaml:"unanswered,omitempty"`     // why the driver does not answer for it
	RepairPending bool     `yaml:"repair_pending,omitempty"` // of its memory, at the next reset
	Recovery      string   `yaml:"recovery,omitempty"`       // what the driver recommends; "none": it recommends nothing
	Fabric        string   `yaml:"fabric,omitempty"`         // why it is not part of the NVLink fabric
	Links         uint64   `yaml:"links,omitempty"`          // NVLinks that are up, a bit for each
	Linked        string   `yaml:"linked,omitempty"`         // GPUs with the same word are linked with each other
	Throttled     []string `yaml:"throttled,omitempty"`      // why its hardware slows it down

	Parts  []Part   `yaml:"parts,omitempty"` // MIG
	Nodes  []string `yaml:"nodes,omitempty"` // device files for a task
	Sample Sample   `yaml:"sample,omitempty"`
}

// A Part is a piece of a GPU (MIG).
type Part struct {
	ID        string `yaml:"id,omitempty"` // MIG-…
	Profile   string `yaml:"profile"`      // such as 1g.10gb
	MemoryMiB uint64 `yaml:"memory_mib,omitempty"`
}

// A Sample is how busy a GPU is.
type Sample struct {
	Utilization   uint64  `yaml:"utilization,omitempty"` // percent
	MemoryUsedMiB uint64  `yaml:"memory_used_mib,omitempty"`
	PowerW        float64 `yaml:"power_w,omitempty"`
	TemperatureC  uint64  `yaml:"temperature_c,omitempty"`
}

// Values of fields that a file does not set.
const (
	Model         = "Simulated GPU"
	MemoryMiB     = 16384
	defaultDriver = "550.54.15"
	defaultCUDA   = "12.4"
	capability    = "9.0"
	powerLimitW   = 300
	idleW         = 30
	idleC         = 35
	maxGPUs       = 1024
)

// Of makes a state of count equal GPUs. An empty model and a memory of 0 stand for the
// defaults above.
func Of(count int, model string, memoryMiB uint64) State {
	return State{GPUs: []GPU{{Count: count, Model: model, MemoryMiB: memoryMiB}}}
}

// InGroups links each n GPUs with each other.
func (s State) InGroups(n int) State {
	var all []GPU
	at := 0
	for _, g := range s.GPUs {
		for left := max(1, g.Count); left > 0; {
			one := g
			one.Count, one.Linked = min(left, n-at%n), fmt.Sprint(at/n+1)
			at, left = at+one.Count, left-one.Count
			all = append(all, one)
		}
	}
	s.GPUs = all
	return s
}

// Read reads a state from a file, in YAML or JSON.
func Read(path string) (State, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return State{}, fmt.Errorf("cannot read the state of the simulated GPUs: %w", err)
	}
	return parse(path, text)
}

func parse(path string, text []byte) (State, error) {
	var s State
	if err := yaml.UnmarshalWithOptions(text, &s, yaml.Strict()); err != nil {
		return s, fmt.Errorf("the simulated GPUs' state %s: %s", path, yaml.FormatError(err, false, true))
	}
	total := 0
	for i, g := range s.GPUs {
		switch {
		case g.Count < 0:
			return s, fmt.Errorf("the simulated GPUs' state %s: gpus[%d].count is %d; it must be 0 or more", path, i, g.Count)
		case g.Count > 1 && (g.ID != "" || len(g.Parts) > 0):
			return s, fmt.Errorf("the simulated GPUs' state %s: gpus[%d] has count %d and an id or parts, which are for a count of 1", path, i, g.Count)
		}
		total += max(1, g.Count)
	}
	if total > maxGPUs {
		return s, fmt.Errorf("the simulated GPUs' state %s: %d GPUs; a node has %d at most", path, total, maxGPUs)
	}
	return s, nil
}

// Write replaces the file with a state in one step, so that a plugin never reads half a
// file.
func Write(path string, s State) error {
	text, err := yaml.Marshal(s)
	if err != nil {
		return err
	}
	fresh, err := os.CreateTemp(filepath.Dir(path), ".gpus-*")
	if err != nil {
		return err
	}
	defer os.Remove(fresh.Name())
	_, err = fresh.Write(text)
	if err := errors.Join(err, fresh.Chmod(0o644), fresh.Close()); err != nil {
		return err
	}
	return os.Rename(fresh.Name(), path)
}

// Expand gives each GPU an entry and an id, so that a test can change a single GPU. Ids
// depend on the seed and the index only: nodes with different seeds have GPUs with
// different ids, and after a restart a node's GPUs have the same ids as before.
func (s State) Expand(seed string) State {
	var all []GPU
	for _, g := range s.GPUs {
		for range max(1, g.Count) {
			one := g
			one.Count = 0
			if one.ID == "" {
				one.ID = "GPU-" + madeUp(seed, fmt.Sprint(len(all)))
			}
			one.Parts = append([]Part(nil), g.Parts...)
			for i := range one.Parts {
				if one.Parts[i].ID == "" {
					one.Parts[i].ID = "MIG-" + madeUp(seed, one.ID, fmt.Sprint(i))
				}
			}
			all = append(all, one)
		}
	}
	s.GPUs = all
	return s
}

// madeUp derives a UUID from words.
func madeUp(words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// scan is an expanded state as a driver would show it.
func (s State) scan() gpus.Scan {
	out := gpus.Scan{Driver: cmp.Or(s.Driver, defaultDriver), CUDA: cmp.Or(s.CUDA, defaultCUDA)}
	for i, g := range s.GPUs {
		whole := gpus.GPU{
			Device: gpus.Device{
				ID: g.ID, Model: cmp.Or(g.Model, Model), MemoryMiB: cmp.Or(g.MemoryMiB, MemoryMiB), Capability: cmp.Or(g.Capability, capability),
				BusID: fmt.Sprintf("00000000:%02X:00.0", i+1), Nodes: g.Nodes, Instance: -1, Compute: -1,
				PowerLimitW: powerLimitW, CoreClockMHz: 1980, MemClockMHz: 2619, BAR1MiB: 2 * cmp.Or(g.MemoryMiB, MemoryMiB), PCIeMBs: 63015,
			},
			Split: len(g.Parts) > 0, Lost: g.Lost, Uncorrected: g.Uncorrected, RemapFailed: g.RemapFailed, Unhealthy: g.Unhealthy,
			Unanswered: g.Unanswered, RepairPending: g.RepairPending, Fabric: g.Fabric, Links: g.Links, Throttled: g.Throttled,
			RecoveryKnown: g.Recovery != "",
		}
		if g.Recovery != "none" {
			whole.Recovery = g.Recovery
		}
		for k, p := range g.Parts {
			d := whole.Device
			d.ID, d.Model, d.MemoryMiB, d.Instance, d.Compute = p.ID, whole.Model+" MIG "+p.Profile, cmp.Or(p.MemoryMiB, whole.MemoryMiB), k+1, 0
			d.PowerLimitW = 0
			whole.Parts = append(whole.Parts, d)
		}
		out.GPUs = append(out.GPUs, whole)
	}
	out.Linked = s.linked()
	return out
}

// linked are the groups of linked GPUs in the order of their first ones.
func (s State) linked() (groups [][]string) {
	at := map[string]int{}
	for _, g := range s.GPUs {
		if g.Linked == "" {
			continue
		}
		i, known := at[g.Linked]
		if !known {
			i = len(groups)
			at[g.Linked], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], g.ID)
	}
	return groups
}
