// Package pool says what a resource pool is: which nodes of Nomad belong to it, what its
// slots are made of, how tasks run there, and what they may ask of their nodes.
//
// package server makes the pools once, from the configuration, when a master starts. The
// API shows them and checks configurations against them, the scheduler places by them, and
// jobspecs renders jobs for them; none of these keeps a form of its own.
//
// Everything here is pure.
package pool

import (
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/master/expconf"
)

// The drivers of Nomad that a pool can have.
const (
	RawExec = "raw_exec"
	Exec    = "exec"
	Docker  = "docker"
	Podman  = "podman"
)

// The networks that need no name of an operator's.
const (
	HostNetwork   = "host"
	BridgeNetwork = "bridge"
)

// A Pool is a set of nodes, the kind of slot that they offer, and how tasks run there.
type Pool struct {
	Name        string
	Description string
	Compute     bool // the default for tasks with slots
	Aux         bool // the default for tasks without

	NodePool    string   // of Nomad; "" for any
	Datacenters []string // of Nomad, names or patterns with *; none for any
	Namespace   string   // of Nomad; "" for the cluster's own

	// Job is what operators wrote for the pool's tasks, a job of Nomad's with one group of
	// one task; nil where only the keys of the configuration are given. See Base.
	Job *api.Job
	// Volumes that Job names, which tasks may mount.
	Volumes []string

	Driver string
	// Network of tasks on one node: HostNetwork, BridgeNetwork, a network of Docker's
	// (docker), or cni/<name> (exec). "" is the host's.
	Network string
	// Python is what its tasks find as python3, on every node; "" for what is first on
	// PATH.
	Python     string
	Containers Containers

	Slots       Slots
	AuxMemoryMB int // of a task without slots
	MaxAux      int // tasks without slots on a node

	SingleNode bool // each task is on one node
	Preemption bool // a more important request may preempt a less important one
	Priority   int  // of what says none

	// Platforms are those for which masters have a runner, as <os>-<arch>; none for any.
	Platforms []string

	// Defaults lie under the configurations of the pool's tasks, and over the cluster's.
	Defaults expconf.TaskContainerDefaults
	// Limits is what tasks in images may ask of their nodes; nil without images.
	Limits *expconf.ContainerLimits
}

// Containers is what a pool with images adds to each of them.
type Containers struct {
	User       string // uid:gid of tasks whose owner is linked to no account; the image's own when empty
	HardMemory bool   // a task's memory is all that it gets; else it is what the task is sure of
	Registry   Registry
	Hosts      []string // name:address lines for /etc/hosts
}

// A Registry says where Nomad finds the username and the password of a registry: in a
// variable of its own, or in Vault.
type Registry struct {
	Variable    string
	VaultPath   string
	VaultEngine string // kv or kv_v2
	VaultRole   string
	Server      string
}

// Runs tells whether masters have a runner for nodes of a platform; "" is one that is not known.
func (p *Pool) Runs(platform string) bool {
	return platform == "" || len(p.Platforms) == 0 || slices.Contains(p.Platforms, platform)
}

// HasImages tells whether the pool's tasks run in images.
func (p *Pool) HasImages() bool { return p.Driver == Docker || p.Driver == Podman }

// Mounts tells whether tasks can see folders of their node at other paths.
func (p *Pool) Mounts() bool { return p.Driver == RawExec || p.HasImages() }

// Reaches tells whether nodes of a datacenter are in the pool.
func (p *Pool) Reaches(datacenter string) bool {
	return len(p.Datacenters) == 0 || slices.ContainsFunc(p.Datacenters, func(pattern string) bool {
		ok, err := path.Match(pattern, datacenter)
		return ok && err == nil
	})
}

// Device is what the pool's slots are in Nomad, such as nvidia/gpu; "" where they are
// cores and memory.
func (p *Pool) Device() string {
	if p.Slots.Kind == DeviceSlots {
		return p.Slots.Device
	}
	return ""
}

// DeviceType is the kind of device that a task with so many slots works on, by which its
// image and its variables are chosen.
func (p *Pool) DeviceType(slots int) expconf.DeviceType {
	switch device := p.Device(); {
	case slots == 0 || device == "":
		return expconf.CPU
	case strings.HasPrefix(device, "amd/"):
		return expconf.ROCM
	}
	return expconf.CUDA
}

// SlotType is the kind of the pool's slots, as clients read it.
func (p *Pool) SlotType() expconf.DeviceType { return p.DeviceType(1) }

// Can is what of a cluster's capabilities the pool has.
func (p *Pool) Can(can expconf.Capabilities) expconf.Capabilities {
	can.Containers = can.Containers && p.HasImages()
	can.NomadOverlay, can.Volumes = true, p.Volumes
	can.Devices, can.Limits = can.Devices || can.Containers, p.Limits
	if !p.Mounts() {
		can.BindMounts = false
		can.Storage = slices.DeleteFunc(slices.Clone(can.Storage), func(s string) bool { return s == expconf.SharedFS })
	}
	return can
}

// Set is all pools of a cluster, in the order of the configuration.
type Set []Pool

// Named finds a pool by its name; nil when there is none.
func (s Set) Named(name string) *Pool {
	for i := range s {
		if s[i].Name == name {
			return &s[i]
		}
	}
	return nil
}

// Default is the pool for work that names none; nil when there is none.
func (s Set) Default(slots int) *Pool {
	for i := range s {
		if slots != 0 && s[i].Compute || slots == 0 && s[i].Aux {
			return &s[i]
		}
	}
	return nil
}

// Names lists them.
func (s Set) Names() []string {
	names := make([]string, len(s))
	for i := range s {
		names[i] = s[i].Name
	}
	return names
}
