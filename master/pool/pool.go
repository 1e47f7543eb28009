// Package pool describes a resource pool: which nodes of Nomad belong to it, what a slot is,
// how tasks run there, and what they may request of their nodes.
//
// Package server makes the pools once, from the configuration, when a master starts. The API
// shows them and checks configurations against them, the scheduler places attempts in them,
// and jobspecs renders jobs for them. All use this one type.
//
// Everything here is pure.
package pool

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/expconf"
)

// The drivers of Nomad that a pool can have.
const (
	RawExec = "raw_exec"
	Exec    = "exec"
	Docker  = "docker"
	Podman  = "podman"
)

// The networks that exist without a name that operators choose.
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

	NodePool    string   // of Nomad; "": any
	Datacenters []string // of Nomad, names or patterns with *; empty: any
	Namespace   string   // of Nomad; "": the cluster's own
	Region      string   // of Nomad; "": the master's own

	// Job is the Nomad job that operators wrote for the pool, with one group of one task; nil
	// if the pool is configured by keys only. See Base.
	Job *api.Job
	// Volumes that Job names, which tasks may mount.
	Volumes []string

	Driver string
	// Network of tasks: HostNetwork, BridgeNetwork, a network of Docker (docker), or
	// cni/<name> (exec). "": the host's.
	Network string
	// Python is the path of python3 for its tasks, on every node; "": the first on PATH.
	Python string
	// Homes is the folder of the nodes in which each user has a folder for notebooks and shells; "": none.
	Homes      string
	Containers Containers

	Slots       Slots
	AuxMemoryMB int // of a task without slots
	MaxAux      int // tasks without slots on a node

	SingleNode bool // each task is on one node
	// TrustedNetwork: nobody but the cluster reaches the ports of its tasks, so these may open ports that authenticate nobody.
	TrustedNetwork bool
	Scheduler      Scheduler
	Preemption     bool // an attempt may be preempted for one with a higher priority
	Priority       int  // default priority of tasks
	// MaxRuntime is for how long a trial or a task may hold its place; 0: without limit.
	MaxRuntime time.Duration

	// Machines that come and go.
	Spot      bool          // a machine can go away at any time
	AuxOnSpot bool          // tasks without slots run on spot machines too
	MaxIdle   time.Duration // how long a node must hold no task before an autoscaler may remove it
	Classes   []Class       // of nodes that an autoscaler can add; empty: those of the nodes that there are

	// Platforms for which masters have a runner, as <os>-<arch>; empty: any.
	Platforms []string

	// Defaults for the configurations of the pool's tasks, merged over the cluster's.
	Defaults expconf.TaskContainerDefaults
	// Limits of what tasks in images may request of their nodes; nil without images.
	Limits *expconf.ContainerLimits

	// What environment.pod_spec means here.
	PodLabels []expconf.PodLabel
	PodLimits []expconf.PodLimit
}

// Containers has the settings of a pool for all its containers.
type Containers struct {
	User       string // uid:gid of tasks whose owner is linked to no account; "": the image's user
	HardMemory bool   // a task's memory is a limit; otherwise it is only guaranteed
	Registry   Registry
	Hosts      []string // name:address lines for /etc/hosts
}

// A Registry has the place of a registry's username and password in Vault.
type Registry struct {
	VaultPath   string
	VaultEngine string // kv or kv_v2
	VaultRole   string
	Server      string
}

// Runs reports whether masters have a runner for nodes of a platform; "": unknown platform.
func (p *Pool) Runs(platform string) bool {
	return platform == "" || len(p.Platforms) == 0 || slices.Contains(p.Platforms, platform)
}

// HasImages reports whether the pool's tasks run in images.
func (p *Pool) HasImages() bool { return p.Driver == Docker || p.Driver == Podman }

// Mounts reports whether tasks can see folders of their node at other paths.
func (p *Pool) Mounts() bool { return p.Driver == RawExec || p.HasImages() }

// Reaches reports whether nodes of a datacenter are in the pool.
func (p *Pool) Reaches(datacenter string) bool {
	return len(p.Datacenters) == 0 || slices.ContainsFunc(p.Datacenters, func(pattern string) bool {
		ok, err := path.Match(pattern, datacenter)
		return ok && err == nil
	})
}

// Device is the name in Nomad of the devices that are the pool's slots, such as nvidia/gpu; "" if the
// slots are cores and memory.
func (p *Pool) Device() string {
	if p.Slots.Kind == DeviceSlots {
		return p.Slots.Device
	}
	return ""
}

// DeviceType is the kind of device that a task with this number of slots uses; it selects the task's
// image and variables.
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

// Can returns which of a cluster's capabilities the pool has.
func (p *Pool) Can(can expconf.Capabilities) expconf.Capabilities {
	can.Containers = can.Containers && p.HasImages()
	can.NomadOverlay, can.Volumes = true, p.Volumes
	if p.Driver == Exec {
		can.Hidden = HiddenUnderExec
	}
	can.GPUs, can.PodLabels, can.PodLimits = p.Device() != "", p.PodLabels, p.PodLimits
	can.FairShare, can.MaxRuntime = p.Scheduler.Type == FairShare, p.MaxRuntime
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
	return each.Find(s, func(p *Pool) bool { return p.Name == name })
}

// Default is the pool for work that names none; nil when there is none.
func (s Set) Default(slots int) *Pool {
	return each.Find(s, func(p *Pool) bool { return slots != 0 && p.Compute || slots == 0 && p.Aux })
}

// Names lists the names of the pools.
func (s Set) Names() []string {
	return each.Of(s, func(p Pool) string { return p.Name })
}

// HiddenUnderExec returns the folder that a volume at a path would hide under the driver exec; "" for none. Nomad starts the runner from the root that it
// makes for the task, so a volume in place of its programs or folders could put other programs in the runner's place.
func HiddenUnderExec(target string) string {
	target = path.Clean("/" + target)
	for _, dir := range []string{"/alloc", "/local", "/secrets", "/run", "/bin", "/sbin", "/usr", "/etc", "/dev", "/proc", "/sys"} {
		if target == dir || strings.HasPrefix(target, dir+"/") || target == "/" {
			return dir
		}
	}
	if first := "/" + strings.Split(target, "/")[1]; strings.HasPrefix(first, "/lib") {
		return first
	}
	return ""
}
