package expconf

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/optional"
)

// Capabilities lists what the master and the resource pool support. Refused rejects what an
// experiment requires beyond it; Unhonoured warns about what the cluster will ignore.
type Capabilities struct {
	Searchers []string // names of supported searchers
	Storage   []string // supported types of checkpoint storage

	Containers   bool // tasks run in images
	MultiSlot    bool // a trial can have more than one slot
	BindMounts   bool
	Devices      bool // device files in tasks
	ShmSize      bool
	ProxyPorts   bool
	OpenPorts    bool     // environment.proxy_ports[].unauthenticated
	NomadOverlay bool     // environment.nomad
	Volumes      []string // names allowed in environment.nomad.volumes
	// Hidden returns the folder of the platform that a volume at a path of the task would hide; "" for none. nil: none would.
	Hidden       func(target string) string
	GPUs         bool // slots are devices, for resources.gpu
	PodLabels    []PodLabel
	PodLimits    []PodLimit
	LogPolicies  bool
	LogRetention bool
	Profiling    bool
	Webhooks     bool
	MaxSlots     bool // resources.max_slots
	FairShare    bool // resources.weight
	SingleNode   bool // resources.is_single_node
	Continue     bool // searcher.source_trial_id and source_checkpoint_uuid

	MaxRuntime time.Duration // the greatest resources.max_runtime; 0: any

	// Limits is what tasks in images may request from their nodes; nil if tasks run without
	// images, or without limits.
	Limits *ContainerLimits
}

// Everything returns the capabilities of a platform that supports everything.
func Everything() Capabilities {
	return Capabilities{
		Searchers:  membersOf[Searcher](),
		Storage:    membersOf[CheckpointStorage](),
		Containers: true, MultiSlot: true, BindMounts: true, Devices: true, ShmSize: true,
		ProxyPorts: true, OpenPorts: true, NomadOverlay: true, LogPolicies: true, LogRetention: true, Profiling: true,
		Webhooks: true, MaxSlots: true, FairShare: true, SingleNode: true, Continue: true, GPUs: true,
	}
}

// Refused reports what the experiment requires and the cluster does not support, as an Errors,
// or nil.
func (c Config) Refused(can Capabilities) error {
	k := &checker{pos: c.pos}
	k.when(!slices.Contains(can.Searchers, c.Searcher.Name) && c.Searcher.Name != "", "searcher.name", fmt.Sprintf("the %s searcher is not available on this cluster", c.Searcher.Name), available(can.Searchers))
	k.when(!slices.Contains(can.Storage, c.CheckpointStorage.Type) && c.CheckpointStorage.Type != "", "checkpoint_storage.type", fmt.Sprintf("%s is not available on this cluster", c.CheckpointStorage.Type), available(can.Storage))
	k.when(c.Resources.SlotsPerTrial > 1 && !can.MultiSlot, "resources.slots_per_trial", fmt.Sprintf("a trial with %d slots is not available on this cluster", c.Resources.SlotsPerTrial), "use 1 slot or 0")
	k.when(len(c.BindMounts) > 0 && !can.BindMounts, "bind_mounts", "are not available on this cluster", "")
	c.Environment.refusedMounts(k, can, c.BindMounts)
	if !can.Continue {
		const why = "starting from a checkpoint of another trial is not available on this cluster"
		k.when(c.Searcher.SourceTrialID != nil, "searcher.source_trial_id", why, "")
		k.when(c.Searcher.SourceCheckpointUUID != nil, "searcher.source_checkpoint_uuid", why, "")
	}
	c.Environment.refused(k, can)
	refusedGPU(k, can, c.Resources.GPU, c.Resources.SlotsPerTrial, "slots_per_trial")
	can.refusedRuntime(k, c.Resources.MaxRuntime)
	can.Limits.refused(k, c.Environment, c.BindMounts, c.Resources.Devices)
	can.Limits.refusedStorage(k, c.CheckpointStorage)
	k.when(c.Internal != nil && c.Internal.Native != nil, "internal.native", "experiments can no longer be submitted from Python code with native", "use entrypoint")
	return document.AsError(k.problems)
}

func (can Capabilities) refusedRuntime(k *checker, limit *Duration) {
	if limit != nil && can.MaxRuntime > 0 && time.Duration(*limit) > can.MaxRuntime {
		k.fail("resources.max_runtime", fmt.Sprintf("%s is over the max_runtime of this resource pool, %s", *limit, Duration(can.MaxRuntime)), "")
	}
}

// refused: tasks must not land on nodes that were ruled out, nor miss their data.
func (e Environment) refused(k *checker, can Capabilities) {
	n := e.Nomad
	if n == nil || can.NomadOverlay {
		return
	}
	k.when(len(n.Constraints) > 0, "environment.nomad.constraints", "are not available on this cluster", "choose nodes with resources.resource_pool")
	k.when(len(n.Volumes) > 0, "environment.nomad.volumes", "are not available on this cluster", "use bind_mounts")
	k.when(len(n.HostPaths) > 0, "environment.nomad.host_paths", "are not available on this cluster", "use bind_mounts")
}

func available(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "available: " + strings.Join(names, ", ")
}

// Unhonoured lists the fields of the experiment that the cluster ignores. A field that equals
// its default is not listed.
func (c Config) Unhonoured(can Capabilities) document.Warnings {
	k := &checker{pos: c.pos}
	c.unhonouredEnvironment(k, can)
	c.unhonouredResources(k, can)
	c.unhonouredFeatures(k, can)
	c.unhonouredPast(k)
	can.Limits.unhonouredMounts(k, c.Environment, c.BindMounts)
	return document.Sorted(k.problems)
}

// when reports a problem if there is one.
func (k *checker) when(wrong bool, path, message, hint string) {
	if wrong {
		k.fail(path, message, hint)
	}
}

func (c Config) unhonouredEnvironment(k *checker, can Capabilities) {
	const at = "environment"
	e := c.Environment
	if !can.Containers {
		const why = "has no effect: tasks of this resource pool run without containers"
		k.when(e.Image != completed(Image{}), at+".image", why, "")
		k.when(e.ForcePullImage, at+".force_pull_image", why, "")
		k.when(e.RegistryAuth != nil, at+".registry_auth", why, "")
		k.when(len(e.AddCapabilities) > 0, at+".add_capabilities", why, "")
		k.when(len(e.DropCapabilities) > 0, at+".drop_capabilities", why, "")
	}
	k.when(len(e.Ports) > 0, at+".ports", "has no effect any more", "use environment.proxy_ports")
	k.when(len(e.ProxyPorts) > 0 && !can.ProxyPorts, at+".proxy_ports", "have no effect on this cluster yet", "")
	for i, p := range e.ProxyPorts {
		k.when(can.ProxyPorts && !can.OpenPorts && optional.Value(p.Unauthenticated), document.Index(at+".proxy_ports", i)+".unauthenticated",
			"has no effect: on this cluster every port requires a sign-in", "operators may set unauthenticated_ports in the master's configuration")
	}
	if n := e.Nomad; n != nil && !can.NomadOverlay {
		k.when(len(n.Spread) > 0, at+".nomad.spread", "has no effect on this cluster yet", "")
		k.when(len(n.Affinities) > 0, at+".nomad.affinities", "have no effect on this cluster yet", "")
		k.when(len(n.Meta) > 0, at+".nomad.meta", "has no effect on this cluster yet", "")
	}
}

func (c Config) unhonouredResources(k *checker, can Capabilities) {
	const at = "resources"
	r := c.Resources
	k.when(len(r.Devices) > 0 && !can.Devices, at+".devices", "have no effect on this cluster yet", "")
	k.when(r.ShmSize != nil && !can.ShmSize, at+".shm_size", "has no effect: tasks of this resource pool share the node's /dev/shm", "")
	k.when(r.MaxSlots != nil && !can.MaxSlots, at+".max_slots", "has no effect on this cluster yet", "")
	k.when(r.Weight != 1 && !can.FairShare, at+".weight", "has no effect: this resource pool does not share by weight", "use resources.priority")
	k.when(r.IsSingleNode != nil && *r.IsSingleNode && !can.SingleNode, at+".is_single_node", "has no effect on this cluster yet", "")
	k.when(r.NativeParallel, at+".native_parallel", "has no effect any more", "name a launcher in entrypoint")
	k.when(r.Slots != nil, at+".slots", "has no effect in an experiment: it is for notebooks, shells, commands and TensorBoards", "use resources.slots_per_trial")
	k.when(r.AgentLabel != nil && *r.AgentLabel != "", at+".agent_label", "has no effect any more", "choose nodes with resources.resource_pool")
}

func (c Config) unhonouredFeatures(k *checker, can Capabilities) {
	c.Hyperparameters.Walk(func(names []string, p Hyperparameter) {
		k.when(p.Prior != nil && !c.Searcher.models() && !c.Searcher.ByProgram(), "hyperparameters."+strings.Join(names, ".")+".prior", "has no effect: only the sampler tpe uses priors",
			"use random, adaptive_asha or async_halving, without sampler: random")
	})
	for i, p := range c.LogPolicies {
		k.when(p.Pattern != nil && !can.LogPolicies && !p.isDefault(), document.Index("log_policies", i), "has no effect on this cluster yet", "")
	}
	k.when(c.RetentionPolicy != nil && c.RetentionPolicy.LogRetentionDays != nil && !can.LogRetention,
		"retention_policy", "has no effect on this cluster yet: the cluster keeps all logs", "")
	k.when(c.Profiling.Enabled && !can.Profiling, "profiling.enabled", "has no effect on this cluster yet", "")
	const timings = "has no effect any more: the profiler samples system metrics only"
	k.when(c.Profiling.BeginOnBatch != 0, "profiling.begin_on_batch", timings, "")
	k.when(c.Profiling.EndAfterBatch != nil, "profiling.end_after_batch", timings, "")
	k.when(!c.Profiling.SyncTimings, "profiling.sync_timings", timings, "")
	if i := c.Integrations; i != nil {
		k.when(i.Pachyderm != nil, "integrations.pachyderm", "has no effect: the section is only stored and shown", "")
		k.when(i.Webhooks != nil && !can.Webhooks, "integrations.webhooks", "has no effect on this cluster yet", "")
	}
}

func (c Config) unhonouredPast(k *checker) {
	k.when(c.Optimizations != completed(Optimizations{}), "optimizations",
		"is passed to the training code; only the old Trial classes of Determined's own package use it", "")
	k.when(c.DataLayer != nil, "data_layer", "has no effect any more", "read data in the training code, from bind_mounts or a bucket")
	k.when(len(c.TensorboardStorage) > 0, "tensorboard_storage", "has no effect any more: event files go to checkpoint_storage", "")
	k.when(c.Security != nil && c.Security.Kerberos != nil, "security.kerberos", "has no effect any more", "")
	const batch = "has no effect: tasks are Nomad jobs"
	k.when(c.Slurm != nil, "slurm", batch, "environment.nomad accepts constraints and affinities")
	k.when(c.PBS != nil, "pbs", batch, "environment.nomad accepts constraints and affinities")
	s := c.CheckpointStorage
	if s.Type == SharedFS {
		const relic = "has no effect any more"
		k.when(s.ContainerPath != nil, "checkpoint_storage.container_path", relic, "")
		k.when(s.CheckpointPath != nil, "checkpoint_storage.checkpoint_path", relic, "use storage_path")
		k.when(s.TensorboardPath != nil, "checkpoint_storage.tensorboard_path", relic, "")
	}
}
