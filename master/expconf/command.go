package expconf

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/expconf/topology"
)

// RawCommand is the document of a notebook, shell, command or TensorBoard as the user wrote it;
// see Raw.
type RawCommand CommandConfig

// unknown explains fields that only experiments support.
func (r *CommandResources) unknown(name string) (message, hint string, ok bool) {
	switch name {
	case "slots_per_trial":
		return "is for experiments", "did you mean slots?", true
	}
	return topology.Unknown(name)
}

// CommandConfig is the complete configuration of a notebook, shell, command or TensorBoard.
type CommandConfig struct {
	written
	BindMounts  BindMounts  `json:"bind_mounts" default:"[]"`
	Debug       bool        `json:"debug"`
	Description string      `json:"description" check:"text 512"`
	Entrypoint  []string    `json:"entrypoint" default:"[]" check:"words"`
	Environment Environment `json:"environment"`
	IdleTimeout *Duration   `json:"idle_timeout"` // nil: the default of the cluster
	// NotebookIdleType selects which activity keeps a notebook from being idle.
	NotebookIdleType string           `json:"notebook_idle_type" default:"kernels_or_terminals" check:"one of kernels_or_terminals kernel_connections activity"`
	PBS              *PBS             `json:"pbs,omitempty"`
	Resources        CommandResources `json:"resources"`
	Slurm            *Slurm           `json:"slurm,omitempty"`
	TensorboardArgs  []string         `json:"tensorboard_args" default:"[]" check:"words"`
	WorkDir          *string          `json:"work_dir" check:"absolute"`

	pos *document.Positions
}

// CommandResources is what such a task needs, and its settings for the queue.
type CommandResources struct {
	written
	AgentLabel     *string   `json:"agent_label,omitempty"`                        // no effect any more
	CPUs           *float64  `json:"cpus,omitempty" check:"over 0, up to maxCPUs"` // nil: those of its slots
	Devices        Devices   `json:"devices" default:"[]"`
	GPU            *GPU      `json:"gpu,omitempty"`
	IsSingleNode   *bool     `json:"is_single_node,omitempty"` // nil: true
	MaxRuntime     *Duration `json:"max_runtime,omitempty"`    // for which the task may hold its place; nil: no limit
	MaxSlots       *int      `json:"max_slots" check:"at least 0"`
	Memory         *ByteSize `json:"memory,omitempty" check:"memory"` // nil: the memory of its slots
	PreferTopology any       `json:"prefer_gpu_topology,omitempty"`   // of Determined's fork
	Priority       *int      `json:"priority" check:"1 (first)..99 (last)"`
	ResourcePool   string    `json:"resource_pool" check:"text 128"`
	ShmSize        *ByteSize `json:"shm_size" check:"1..maxShm"`
	Slots          int       `json:"slots" default:"1" check:"0..maxSlots"`
	Weight         float64   `json:"weight" default:"1" check:"over 0, up to maxWeight"`
}

func (r CommandResources) check(k *checker, at string) {
	k.maxRuntime(at, r.MaxRuntime)
	k.topology(at, r.PreferTopology, r.Slots)
}

// Duration is a time span, written 30m or as a number of seconds.
type Duration time.Duration

// MarshalJSON writes the duration the way it is written in documents: "30m0s".
func (t Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(t).String()) }

func (t *Duration) decode(d *decoder, n *document.Node, path string) {
	const forms = "a time span such as 30m or 1h30m"
	switch n.Kind {
	case document.IntKind, document.FloatKind:
		var seconds float64
		d.into(n, path, &seconds)
		if math.Abs(seconds) > maxSeconds {
			d.problem(n, path, fmt.Sprintf("expected at most %d seconds, found %s", maxSeconds, document.Clip(n.Text)), "")
			return
		}
		*t = Duration(seconds * float64(time.Second))
	case document.StringKind:
		span, err := time.ParseDuration(n.Text)
		if err != nil {
			d.expected(n, path, forms, "")
			return
		}
		if span.Abs() > maxSeconds*time.Second {
			d.problem(n, path, fmt.Sprintf("expected at most %d seconds, found %s", maxSeconds, document.Clip(n.Text)), "")
			return
		}
		*t = Duration(span)
	default:
		d.expected(n, path, forms, "")
	}
}

// ParseCommand parses the document of a notebook, shell, command or TensorBoard.
func ParseCommand(name string, src []byte) (RawCommand, document.Warnings, error) {
	return parseCommand(name, src, document.UserLimits())
}

// ParseCommandTemplate parses the template of such a task. Fields that only experiments support
// are warnings, because one template can serve tasks of all kinds.
func ParseCommandTemplate(name string, src []byte) (RawCommand, document.Warnings, error) {
	l := document.UserLimits()
	l.Lenient = true
	return parseCommand(name, src, l)
}

func parseCommand(name string, src []byte, l document.Limits) (RawCommand, document.Warnings, error) {
	var raw RawCommand
	d, err := parseInto(name, src, l, &raw, func(at *document.Positions) error {
		raw.pos = at
		c, err := CompleteCommand(raw, CommandDefaults{Description: "unnamed"})
		if err != nil {
			return err
		}
		return c.Validate(false)
	})
	if err != nil {
		return RawCommand{}, nil, err
	}
	raw.pos = d.positions()
	return raw, document.Sorted(d.warnings), nil
}

// MergeCommand merges two documents by the rules of Merge.
func MergeCommand(over, under RawCommand) RawCommand {
	merged := merge(over, under)
	merged.pos = over.pos.Over(under.pos)
	return merged
}

// CommandDefaults has the values that the master adds to such a document.
type CommandDefaults struct {
	TaskContainer TaskContainerDefaults
	Description   string // used if the document has none: "JupyterLab (<pet name>)"
}

// CompleteCommand sets every field that raw leaves unset.
func CompleteCommand(raw RawCommand, defaults CommandDefaults) (CommandConfig, error) {
	t := defaults.TaskContainer
	under := RawCommand{BindMounts: t.BindMounts, Environment: t.environment(), PBS: t.PBS, Slurm: t.Slurm, WorkDir: t.WorkDir}
	under.Resources.Devices = t.Devices
	raw = MergeCommand(raw, under)
	c := CommandConfig(raw)
	if !IsSet(&raw, "description") {
		if defaults.Description == "" {
			return CommandConfig{}, errors.New("the task has no description and none was generated")
		}
		c.Description = defaults.Description
	}
	fill(valueOf(&c))
	c.Environment.Nomad = c.Environment.Nomad.orNone()
	c.Environment.Slurm, c.Environment.PBS = nil, nil // no effect on such tasks
	return c, nil
}

// ParseCommandConfigJSON parses a stored complete configuration.
func ParseCommandConfigJSON(src []byte) (CommandConfig, error) {
	raw, _, err := parseCommand("", src, document.StoredLimits())
	if err != nil {
		return CommandConfig{}, err
	}
	c, err := CompleteCommand(raw, CommandDefaults{})
	c.pos = nil
	return c, err
}

// Validate reports everything that prevents the task from running, as an Errors, or nil. The
// caller knows whether this kind of task needs an entrypoint.
func (c CommandConfig) Validate(needsEntrypoint bool) error {
	k := &checker{pos: c.pos}
	k.section("", &c)
	k.when(needsEntrypoint && (len(c.Entrypoint) == 0 || c.Entrypoint[0] == ""), "entrypoint", "is required", "a list of words: the program and its arguments")
	if c.IdleTimeout != nil && *c.IdleTimeout < 0 {
		k.fail("idle_timeout", fmt.Sprintf("must not be negative, found %s", strconv.Quote(time.Duration(*c.IdleTimeout).String())), "")
	}
	k.stored(&c)
	return document.AsError(k.problems)
}

// Refused reports what the task requires and the pool does not support, as an Errors, or nil.
func (c CommandConfig) Refused(can Capabilities) error {
	k := &checker{pos: c.pos}
	k.when(len(c.BindMounts) > 0 && !can.BindMounts, "bind_mounts", "are not available in this resource pool", "")
	c.Environment.refused(k, can)
	c.Environment.refusedMounts(k, can, c.BindMounts)
	refusedGPU(k, can, c.Resources.GPU, c.Resources.Slots, "slots")
	can.refusedRuntime(k, c.Resources.MaxRuntime)
	can.Limits.refused(k, c.Environment, c.BindMounts, c.Resources.Devices)
	return document.AsError(k.problems)
}

// Unhonoured lists the fields of the task that the cluster ignores.
func (c CommandConfig) Unhonoured(can Capabilities) document.Warnings {
	k := &checker{pos: c.pos}
	as := Config{Environment: c.Environment, Resources: Resources{
		Devices: c.Resources.Devices, ShmSize: c.Resources.ShmSize,
		MaxSlots: c.Resources.MaxSlots, Weight: c.Resources.Weight,
	}}
	as.unhonouredEnvironment(k, can)
	as.unhonouredResources(k, can)
	can.Limits.unhonouredMounts(k, c.Environment, c.BindMounts)
	const batch = "has no effect: tasks are Nomad jobs"
	k.when(c.Slurm != nil, "slurm", batch, "")
	k.when(c.PBS != nil, "pbs", batch, "")
	return document.Sorted(k.problems)
}
