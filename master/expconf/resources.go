package expconf

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// RawResources is resources as written in an experiment.
type RawResources struct {
	AgentLabel     *string   `json:"agent_label"`
	Devices        Devices   `json:"devices"`
	IsSingleNode   *bool     `json:"is_single_node"`
	MaxSlots       *int      `json:"max_slots"`
	Memory         *ByteSize `json:"memory"`
	NativeParallel *bool     `json:"native_parallel"`
	Priority       *int      `json:"priority"`
	ResourcePool   *string   `json:"resource_pool"`
	ShmSize        *ByteSize `json:"shm_size"`
	SlotsPerTrial  *int      `json:"slots_per_trial"`
	Weight         *float64  `json:"weight"`
}

// Resources is what the trials of an experiment need and how they queue.
type Resources struct {
	AgentLabel     *string   `json:"agent_label,omitempty"`
	Devices        Devices   `json:"devices"`
	IsSingleNode   *bool     `json:"is_single_node"`
	MaxSlots       *int      `json:"max_slots"`
	Memory         *ByteSize `json:"memory,omitempty"` // on each node; nil: that of its slots
	NativeParallel bool      `json:"native_parallel"`
	Priority       *int      `json:"priority"`      // nil: the default of the pool
	ResourcePool   string    `json:"resource_pool"` // "": the default of the workspace or cluster
	ShmSize        *ByteSize `json:"shm_size"`      // nil: the default of the cluster
	SlotsPerTrial  int       `json:"slots_per_trial"`
	Weight         float64   `json:"weight"`
}

func (r *RawResources) complete() Resources {
	if r == nil {
		r = &RawResources{}
	}
	return Resources{
		AgentLabel:     r.AgentLabel,
		Devices:        r.Devices.complete(),
		IsSingleNode:   r.IsSingleNode,
		MaxSlots:       r.MaxSlots,
		Memory:         r.Memory,
		NativeParallel: first(false, r.NativeParallel),
		Priority:       r.Priority,
		ResourcePool:   first("", r.ResourcePool),
		ShmSize:        r.ShmSize,
		SlotsPerTrial:  first(1, r.SlotsPerTrial),
		Weight:         first(1.0, r.Weight),
	}
}

func (r Resources) check(k *checker) {
	const at = "resources"
	k.within(at+".slots_per_trial", int64(r.SlotsPerTrial), 0, maxSlots)
	checkShare(k, at, r.Priority, r.Weight, r.MaxSlots, r.ResourcePool, r.ShmSize)
	if r.MaxSlots != nil && *r.MaxSlots >= 0 && *r.MaxSlots < r.SlotsPerTrial {
		k.fail(at+".max_slots", fmt.Sprintf("%d is less than slots_per_trial %d, so that no trial could start",
			*r.MaxSlots, r.SlotsPerTrial), "")
	}
	checkMemory(k, at, r.Memory)
	r.Devices.check(k, at+".devices")
}

// The bounds of a task's memory on a node.
const (
	minMemory = 64 << 20
	maxMemory = 1 << 50
)

func checkMemory(k *checker, at string, memory *ByteSize) {
	if memory != nil && (*memory < minMemory || *memory > maxMemory) {
		k.fail(at+".memory", fmt.Sprintf("must be from 64 MiB to 1 PiB, found %d bytes", *memory), "write a unit, such as 16GiB")
	}
}

// checkShare validates what experiments and commands have in common.
func checkShare(k *checker, at string, priority *int, weight float64, maxSlots *int, pool string, shm *ByteSize) {
	if priority != nil && (*priority < 1 || *priority > 99) {
		k.fail(at+".priority", fmt.Sprintf("must be from 1 (first) to 99 (last), found %d", *priority), "")
	}
	if !(weight > 0 && weight <= maxWeight) {
		k.fail(at+".weight", fmt.Sprintf("must be greater than 0 and at most %d, found %s", maxWeight, short(weight)), "")
	}
	if maxSlots != nil {
		k.atLeast(at+".max_slots", *maxSlots, 0)
	}
	if shm != nil {
		k.within(at+".shm_size", int64(*shm), 1, maxShm)
	}
	k.text(at+".resource_pool", pool, 128)
}

// ByteSize is a number of bytes, which users write as 4GiB, 512m or 1.5g. The
// units are powers of 1024 in all spellings, as they are for containers.
type ByteSize int64

func (s *ByteSize) decode(d *decoder, n *node, path string) {
	if _, ok := n.whole(); ok {
		d.into(n, path, (*int64)(s))
		return
	}
	if n.kind != stringKind {
		d.expected(n, path, "a size such as 4GiB, or a number of bytes", "")
		return
	}
	size, ok := parseByteSize(n.text)
	if !ok {
		d.problem(n, path, fmt.Sprintf("expected a size such as 4GiB, or a number of bytes, found %q", clip(n.text)), "")
		return
	}
	*s = ByteSize(size)
}

var sizePattern = regexp.MustCompile(`^([0-9]*\.?[0-9]+) ?([kmgtp]?)(i?b)?$`)

func parseByteSize(text string) (int64, bool) {
	m := sizePattern.FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	if m == nil || (m[2] == "" && m[3] == "ib") {
		return 0, false
	}
	amount, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, false
	}
	size := amount * math.Pow(1024, float64(strings.Index("kmgtp", m[2])+1))
	if m[2] == "" {
		size = amount
	}
	if size > math.MaxInt64/2 {
		return 0, false
	}
	return int64(size), true
}
