package expconf

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/expconf/topology"
)

// Resources is what the trials of an experiment need, and their settings for the queue.
type Resources struct {
	written
	AgentLabel     *string   `json:"agent_label,omitempty"`
	CPUs           *float64  `json:"cpus,omitempty" check:"over 0, up to maxCPUs"` // on each node; nil: those of its slots
	Devices        Devices   `json:"devices" default:"[]"`
	EqualParts     *bool     `json:"equal_parts,omitempty"` // as many slots on each of its nodes
	GPU            *GPU      `json:"gpu,omitempty"`         // nil: any GPUs of one model
	IsSingleNode   *bool     `json:"is_single_node"`
	MaxRuntime     *Duration `json:"max_runtime,omitempty"` // for which a trial may hold slots, over all its attempts; nil: no limit
	MaxSlots       *int      `json:"max_slots" check:"at least 0"`
	Memory         *ByteSize `json:"memory,omitempty" check:"memory"` // on each node; nil: the memory of its slots
	NativeParallel bool      `json:"native_parallel"`
	PreferTopology any       `json:"prefer_gpu_topology,omitempty"`         // of Determined's fork
	Priority       *int      `json:"priority" check:"1 (first)..99 (last)"` // nil: the default of the pool
	ResourcePool   string    `json:"resource_pool" check:"text 128"`        // "": the default of the workspace or cluster
	ShmSize        *ByteSize `json:"shm_size" check:"1..maxShm"`            // nil: the default of the cluster
	Slots          *int      `json:"slots,omitempty" check:"0..maxSlots"`   // for tasks that are not trials, in templates for both; no effect here
	SlotsPerTrial  int       `json:"slots_per_trial" default:"1" check:"0..maxSlots"`
	Weight         float64   `json:"weight" default:"1" check:"over 0, up to maxWeight"`
}

func (r *Resources) unknown(name string) (message, hint string, ok bool) {
	return topology.Unknown(name)
}

func (r Resources) check(k *checker, at string) {
	k.maxRuntime(at, r.MaxRuntime)
	k.topology(at, r.PreferTopology, r.SlotsPerTrial)
	if r.MaxSlots != nil && *r.MaxSlots >= 0 && *r.MaxSlots < r.SlotsPerTrial {
		k.fail(at+".max_slots", fmt.Sprintf("%d is less than slots_per_trial %d, so no trial could start",
			*r.MaxSlots, r.SlotsPerTrial), "")
	}
}

// What max_runtime may be.
const minRuntime, maxRuntime = time.Second, 10 * 365 * 24 * time.Hour

func (k *checker) maxRuntime(at string, limit *Duration) {
	if limit == nil {
		return
	}
	if d := time.Duration(*limit); d < minRuntime || d > maxRuntime {
		k.fail(at+".max_runtime", fmt.Sprintf("must be from %s to %d days, found %s", minRuntime, maxRuntime/(24*time.Hour), strconv.Quote(d.String())), "write a time span, such as 4h or 30m")
	}
}

// String writes the duration as documents do, without units of zero: 4h and not 4h0m0s.
func (t Duration) String() string {
	text := time.Duration(t).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func (k *checker) topology(at string, prefer any, slots int) {
	message, hint := topology.Problem(prefer, slots)
	k.when(message != "", at+".prefer_gpu_topology", message, hint)
}

// The limits of a task's processors and memory on a node.
const (
	maxCPUs   = 4096
	minMemory = 64 << 20
	maxMemory = 1 << 50
)

func (k *checker) memory(at string, bytes int64) {
	k.when(bytes < minMemory || bytes > maxMemory, at, fmt.Sprintf("must be from 64 MiB to 1 PiB, found %d bytes", bytes), "write a unit, such as 16GiB")
}

// ByteSize is a number of bytes, which users write as 4GiB, 512m or 1.5g. All units are powers
// of 1024, as in container runtimes.
type ByteSize int64

func (s *ByteSize) decode(d *decoder, n *document.Node, path string) {
	if _, ok := n.Whole(); ok {
		d.into(n, path, (*int64)(s))
		return
	}
	if n.Kind != document.StringKind {
		d.expected(n, path, "a size such as 4GiB, or a number of bytes", "")
		return
	}
	size, ok := parseByteSize(n.Text)
	if !ok {
		d.problem(n, path, fmt.Sprintf("expected a size such as 4GiB, or a number of bytes, found %q", document.Clip(n.Text)), "")
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
