package expconf

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// Words for what keeps a notebook from being idle.
const (
	IdleKernelsOrTerminals = "kernels_or_terminals"
	IdleKernelConnections  = "kernel_connections"
	IdleActivity           = "activity"
)

// RawCommand is the document of a notebook, shell, command or TensorBoard as
// it was written.
type RawCommand struct {
	BindMounts       BindMounts           `json:"bind_mounts"`
	Debug            *bool                `json:"debug"`
	Description      *string              `json:"description"`
	Entrypoint       []string             `json:"entrypoint"`
	Environment      *RawEnvironment      `json:"environment"`
	IdleTimeout      *Duration            `json:"idle_timeout"`
	NotebookIdleType *string              `json:"notebook_idle_type"`
	PBS              *PBS                 `json:"pbs"`
	Resources        *RawCommandResources `json:"resources"`
	Slurm            *Slurm               `json:"slurm"`
	TensorboardArgs  []string             `json:"tensorboard_args"`
	WorkDir          *string              `json:"work_dir"`

	pos *positions
}

// RawCommandResources is resources as written in such a document.
type RawCommandResources struct {
	Devices      Devices   `json:"devices"`
	MaxSlots     *int      `json:"max_slots"`
	Memory       *ByteSize `json:"memory"`
	Priority     *int      `json:"priority"`
	ResourcePool *string   `json:"resource_pool"`
	ShmSize      *ByteSize `json:"shm_size"`
	Slots        *int      `json:"slots"`
	Weight       *float64  `json:"weight"`
}

// unknown explains the fields that only experiments have.
func (r *RawCommandResources) unknown(name string) (message, hint string, ok bool) {
	switch name {
	case "is_single_node":
		return "cannot be set: a task of this kind is always on a single node", "", true
	case "slots_per_trial":
		return "is for experiments", "did you mean slots?", true
	}
	return "", "", false
}

// CommandConfig is what a notebook, shell, command or TensorBoard runs with.
type CommandConfig struct {
	BindMounts       BindMounts       `json:"bind_mounts"`
	Debug            bool             `json:"debug"`
	Description      string           `json:"description"`
	Entrypoint       []string         `json:"entrypoint"`
	Environment      Environment      `json:"environment"`
	IdleTimeout      *Duration        `json:"idle_timeout"` // nil: the default of the cluster
	NotebookIdleType string           `json:"notebook_idle_type"`
	PBS              *PBS             `json:"pbs,omitempty"`
	Resources        CommandResources `json:"resources"`
	Slurm            *Slurm           `json:"slurm,omitempty"`
	TensorboardArgs  []string         `json:"tensorboard_args"`
	WorkDir          *string          `json:"work_dir"`

	pos *positions
}

// CommandResources is what such a task needs and how it queues.
type CommandResources struct {
	Devices      Devices   `json:"devices"`
	MaxSlots     *int      `json:"max_slots"`
	Memory       *ByteSize `json:"memory,omitempty"` // nil: that of its slots
	Priority     *int      `json:"priority"`
	ResourcePool string    `json:"resource_pool"`
	ShmSize      *ByteSize `json:"shm_size"`
	Slots        int       `json:"slots"`
	Weight       float64   `json:"weight"`
}

// Duration is a time span, written 30m or as a number of seconds.
type Duration time.Duration

// MarshalJSON writes the duration the way it is written in documents: "30m0s".
func (t Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(t).String()) }

func (t *Duration) decode(d *decoder, n *node, path string) {
	const forms = "a time span such as 30m or 1h30m"
	switch n.kind {
	case intKind, floatKind:
		var seconds float64
		d.into(n, path, &seconds)
		if math.Abs(seconds) > maxSeconds {
			d.problem(n, path, fmt.Sprintf("expected at most %d seconds, found %s", maxSeconds, clip(n.text)), "")
			return
		}
		*t = Duration(seconds * float64(time.Second))
	case stringKind:
		span, err := time.ParseDuration(n.text)
		if err != nil {
			d.expected(n, path, forms, "")
			return
		}
		if span.Abs() > maxSeconds*time.Second {
			d.problem(n, path, fmt.Sprintf("expected at most %d seconds, found %s", maxSeconds, clip(n.text)), "")
			return
		}
		*t = Duration(span)
	default:
		d.expected(n, path, forms, "")
	}
}

// ParseCommand reads the document of a notebook, shell, command or TensorBoard.
func ParseCommand(name string, src []byte) (RawCommand, Warnings, error) {
	return parseCommand(name, src, userLimits())
}

func parseCommand(name string, src []byte, l limits) (RawCommand, Warnings, error) {
	var raw RawCommand
	d, err := parseInto(name, src, l, &raw, func(at *positions) error {
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
	return raw, sorted(d.warnings), nil
}

// MergeCommand lays one document over another, by the rules of Merge.
func MergeCommand(over, under RawCommand) RawCommand {
	merged := merge(over, under)
	merged.pos = over.pos.over(under.pos)
	return merged
}

// CommandDefaults is what the master adds to such a document.
type CommandDefaults struct {
	TaskContainer TaskContainerDefaults
	Description   string // where there is none: "JupyterLab (<pet name>)"
}

// CompleteCommand fills in everything that raw leaves open.
func CompleteCommand(raw RawCommand, defaults CommandDefaults) (CommandConfig, error) {
	t := defaults.TaskContainer
	under := RawCommand{BindMounts: t.BindMounts, Environment: t.environment(), PBS: t.PBS, Slurm: t.Slurm, WorkDir: t.WorkDir}
	if t.Devices != nil {
		under.Resources = &RawCommandResources{Devices: t.Devices}
	}
	raw = MergeCommand(raw, under)
	if raw.Description == nil && defaults.Description == "" {
		return CommandConfig{}, errors.New("the task has no description and none was generated")
	}
	return CommandConfig{
		BindMounts:       raw.BindMounts.complete(),
		Debug:            first(false, raw.Debug),
		Description:      first(defaults.Description, raw.Description),
		Entrypoint:       filled(raw.Entrypoint),
		Environment:      raw.Environment.complete(),
		IdleTimeout:      raw.IdleTimeout,
		NotebookIdleType: first(IdleKernelsOrTerminals, raw.NotebookIdleType),
		PBS:              raw.PBS,
		Resources:        raw.Resources.complete(),
		Slurm:            raw.Slurm,
		TensorboardArgs:  filled(raw.TensorboardArgs),
		WorkDir:          raw.WorkDir,
		pos:              raw.pos,
	}, nil
}

func (r *RawCommandResources) complete() CommandResources {
	if r == nil {
		r = &RawCommandResources{}
	}
	return CommandResources{
		Devices:      r.Devices.complete(),
		MaxSlots:     r.MaxSlots,
		Memory:       r.Memory,
		Priority:     r.Priority,
		ResourcePool: first("", r.ResourcePool),
		ShmSize:      r.ShmSize,
		Slots:        first(1, r.Slots),
		Weight:       first(1.0, r.Weight),
	}
}

// ParseCommandConfigJSON reads a completed configuration back.
func ParseCommandConfigJSON(src []byte) (CommandConfig, error) {
	raw, _, err := parseCommand("", src, storedLimits())
	if err != nil {
		return CommandConfig{}, err
	}
	c, err := CompleteCommand(raw, CommandDefaults{})
	c.pos = nil
	return c, err
}

// Validate reports everything that keeps the task from running, as an Errors,
// or nil. Whether an entrypoint is needed depends on the kind of task, and is
// for the caller to say.
func (c CommandConfig) Validate(needsEntrypoint bool) error {
	k := &checker{pos: c.pos}
	k.text("description", c.Description, 512)
	c.BindMounts.check(k, "bind_mounts")
	c.Environment.check(k)
	if needsEntrypoint && (len(c.Entrypoint) == 0 || c.Entrypoint[0] == "") {
		k.fail("entrypoint", "is required", "a list of words: the program and its arguments")
	}
	k.oneOf("notebook_idle_type", c.NotebookIdleType, IdleKernelsOrTerminals, IdleKernelConnections, IdleActivity)
	if c.IdleTimeout != nil && *c.IdleTimeout < 0 {
		k.fail("idle_timeout", fmt.Sprintf("must not be negative, found %s", strconv.Quote(time.Duration(*c.IdleTimeout).String())), "")
	}
	if c.WorkDir != nil {
		k.absolute("work_dir", *c.WorkDir)
	}
	const at = "resources"
	r := c.Resources
	k.within(at+".slots", int64(r.Slots), 0, maxSlots)
	checkShare(k, at, r.Priority, r.Weight, r.MaxSlots, r.ResourcePool, r.ShmSize)
	checkMemory(k, at, r.Memory)
	r.Devices.check(k, at+".devices")
	k.words("entrypoint", c.Entrypoint)
	k.words("tensorboard_args", c.TensorboardArgs)
	c.Slurm.check(k)
	c.PBS.check(k)
	k.stored(c)
	return asError(k.problems)
}

// Redacted is the configuration without its secrets.
func (c CommandConfig) Redacted() CommandConfig {
	c.Environment.RegistryAuth = c.Environment.RegistryAuth.redacted()
	return c
}

// Refused reports what the task cannot run without and the pool does not have,
// as an Errors, or nil.
func (c CommandConfig) Refused(can Capabilities) error {
	k := &checker{pos: c.pos}
	k.when(len(c.BindMounts) > 0 && !can.BindMounts, "bind_mounts", "are not available in this resource pool", "")
	c.Environment.refused(k, can)
	c.Environment.refusedMounts(k, can, c.BindMounts)
	can.Limits.refused(k, c.Environment, c.BindMounts, c.Resources.Devices)
	return asError(k.problems)
}

// Unhonoured tells what the task asks for that will have no effect.
func (c CommandConfig) Unhonoured(can Capabilities) Warnings {
	k := &checker{pos: c.pos}
	as := Config{Environment: c.Environment, Resources: Resources{
		Devices: c.Resources.Devices, ShmSize: c.Resources.ShmSize,
		MaxSlots: c.Resources.MaxSlots, Weight: c.Resources.Weight,
	}}
	as.unhonouredEnvironment(k, can)
	as.unhonouredResources(k, can)
	const batch = "has no effect: tasks are Nomad jobs"
	k.when(c.Slurm != nil, "slurm", batch, "")
	k.when(c.PBS != nil, "pbs", batch, "")
	return sorted(k.problems)
}
