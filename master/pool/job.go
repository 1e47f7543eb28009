package pool

import (
	"cmp"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/optional"
	"github.com/hashicorp/nomad/api"
)

// A pool's job is the Nomad job with which all jobs of its tasks begin: a job with one group of
// one task. jobspecs adds Detent's own settings and those of an experiment. Operators write
// the job (package jobfile), or Base makes it from the older keys of the configuration.

// A Job is a Nomad job.
type Job = api.Job

// CNIPrefix is the prefix of names of networks that CNI plugins create.
const CNIPrefix = "cni/"

// Drivers lists the drivers of Nomad that a pool can have.
func Drivers() []string { return []string{RawExec, Exec, Docker, Podman} }

// WithJob returns the pool with a job that operators wrote. The job's nodes, driver and network
// replace the pool's own fields.
func (p Pool) WithJob(j *api.Job) Pool {
	group, task := j.TaskGroups[0], j.TaskGroups[0].Tasks[0]
	p.Job, p.Driver = j, task.Driver
	p.NodePool = cmp.Or(optional.Value(j.NodePool), "default") // Nomad's default
	if p.NodePool == "all" {
		p.NodePool = ""
	}
	if len(j.Datacenters) > 0 {
		p.Datacenters = j.Datacenters
	}
	p.Namespace = cmp.Or(optional.Value(j.Namespace), p.Namespace)
	p.Network = GroupNetwork(j)
	if mode, ok := task.Config["network_mode"].(string); ok && p.Network == HostNetwork {
		p.Network = mode
	}
	p.Containers.User = cmp.Or(task.User, p.Containers.User)
	if r := task.Resources; r != nil {
		p.Slots = p.Slots.With(r)
	}
	for name := range group.Volumes {
		p.Volumes = append(p.Volumes, name)
	}
	slices.Sort(p.Volumes)
	return p
}

// With returns the slots with the resources of a pool's job.
func (s Slots) With(r *api.Resources) Slots {
	if r.Cores != nil && *r.Cores > 0 {
		s.CoresPerSlot, s.WholeCores = *r.Cores, true
	}
	if r.CPU != nil && *r.CPU > 0 {
		s.MHzPerSlot = *r.CPU
	}
	if r.MemoryMB != nil && *r.MemoryMB > 0 {
		s.MemoryMBPerSlot = *r.MemoryMB
	}
	if r.MemoryMaxMB != nil && *r.MemoryMaxMB > 0 {
		s.MemoryMaxMBPerSlot = *r.MemoryMaxMB
	}
	return s
}

// Base returns the job with which the jobs of the pool's tasks begin. A caller must change a
// copy only.
func (p *Pool) Base() *api.Job {
	if p.Job != nil {
		return p.Job
	}
	task := &api.Task{Driver: p.Driver}
	network := &api.NetworkResource{Mode: HostNetwork}
	switch {
	case p.HasImages(): // Docker has networks of its own
		task.Config = map[string]any{"network_mode": cmp.Or(p.Network, HostNetwork)}
	case p.Network != "":
		network.Mode = p.Network
	}
	return &api.Job{NodePool: new(cmp.Or(p.NodePool, "all")), Datacenters: slices.Clone(p.Datacenters), Namespace: optional.NonZero(p.Namespace),
		TaskGroups: []*api.TaskGroup{{Networks: []*api.NetworkResource{network}, Tasks: []*api.Task{task}}}}
}

// GroupNetwork returns the network mode of a job's group.
func GroupNetwork(j *api.Job) string {
	for _, n := range j.TaskGroups[0].Networks {
		if n.Mode != "" {
			return n.Mode
		}
	}
	return HostNetwork
}

// Constraints returns the constraints that a node of the pool must meet.
func (p *Pool) Constraints() []Comparison {
	if p.Job == nil {
		return nil
	}
	return constraints(p.Job)
}

// Affinities returns the affinities of the pool's tasks to nodes.
func (p *Pool) Affinities() []Affinity {
	if p.Job == nil {
		return nil
	}
	return AllAffinities(p.Job)
}

func constraints(j *api.Job) []Comparison {
	g := j.TaskGroups[0]
	return each.Of(slices.Concat(j.Constraints, g.Constraints, g.Tasks[0].Constraints), func(c *api.Constraint) Comparison {
		return Comparison{c.LTarget, c.Operand, c.RTarget}
	})
}

// AllAffinities returns the affinities of a job, its group and its task.
func AllAffinities(j *api.Job) []Affinity {
	g := j.TaskGroups[0]
	return each.Of(slices.Concat(j.Affinities, g.Affinities, g.Tasks[0].Affinities), func(a *api.Affinity) Affinity {
		return Affinity{Comparison{a.LTarget, a.Operand, a.RTarget}, int(optional.Or(a.Weight, defaultWeight))}
	})
}

// Spreads returns the spreads of the pool's tasks over nodes.
func (p *Pool) Spreads() []Spread {
	if p.Job == nil {
		return nil
	}
	var list []Spread
	for _, s := range slices.Concat(p.Job.Spreads, p.Job.TaskGroups[0].Spreads) {
		spread := Spread{Attribute: s.Attribute, Weight: int(optional.Or(s.Weight, defaultWeight))}
		for _, t := range s.SpreadTarget {
			spread.Targets = append(spread.Targets, SpreadTarget{t.Value, int(t.Percent)})
		}
		list = append(list, spread)
	}
	return list
}

// Comparisons returns all comparisons with which a job chooses nodes.
func Comparisons(j *api.Job) []Comparison {
	return append(constraints(j), each.Of(AllAffinities(j), func(a Affinity) Comparison { return a.Comparison })...)
}

// HostVolumes returns the host volumes that a node must have for the pool's tasks, by their
// names on the node; true: mounted writable.
func (p *Pool) HostVolumes() map[string]bool {
	if p.Job == nil {
		return nil
	}
	g := p.Job.TaskGroups[0]
	out := map[string]bool{}
	for _, m := range g.Tasks[0].VolumeMounts {
		if v := g.Volumes[*m.Volume]; onHost(v) {
			out[v.Source] = out[v.Source] || !v.ReadOnly
		}
	}
	return out
}

// HostVolume returns the name on nodes of a volume of the pool, if it is a host volume.
func (p *Pool) HostVolume(name string) (source string, writes bool) {
	if p.Job == nil {
		return "", false
	}
	if v := p.Job.TaskGroups[0].Volumes[name]; onHost(v) {
		return v.Source, !v.ReadOnly
	}
	return "", false
}

func onHost(v *api.VolumeRequest) bool {
	return v != nil && v.Type == "host" && !strings.Contains(v.Source, "${")
}
