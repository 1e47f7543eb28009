package server

import (
	"cmp"
	"time"

	"github.com/detent-ml/detent/master/pool"
)

// pools converts the configuration of the pools to the form that all parts of the master use.
// jobs are the pools' jobs as parsed by Nomad, by pool name.
func (c *Config) pools(jobs map[string]*pool.Job) (pool.Set, error) {
	var set pool.Set
	for _, p := range c.Pools {
		defaults, err := parseTaskDefaults(p.TaskContainerDefaults)
		if err != nil {
			return nil, err
		}
		limits, err := c.limits(p)
		if err != nil {
			return nil, err
		}
		made := pool.Pool{Name: p.Name, Description: p.Description,
			Compute: p.Name == c.DefaultComputePool, Aux: p.Name == c.DefaultAuxPool,
			NodePool: cmp.Or(p.NodePool, "default"), Datacenters: c.datacentersOf(p), Region: c.regionOf(p), Namespace: c.Nomad.Namespace,
			Driver: p.Driver, Network: p.network(*c), Python: p.Python, Homes: p.Homes,
			Containers: pool.Containers{User: p.Docker.User, HardMemory: p.Docker.HardMemory,
				Registry: p.Docker.Registry.place(), Hosts: p.Docker.hosts()},
			Slots: pool.Slots{Kind: pool.SlotKind(p.Slots), Device: p.Device, CoresPerSlot: p.CoresPerSlot,
				MemoryMBPerSlot: p.MemoryMBPerSlot, MaxPerNode: p.MaxSlotsPerNode, PerNode: p.SlotsPerNode},
			AuxMemoryMB: p.AuxMemoryMB, MaxAux: p.MaxAux, SingleNode: p.SingleNode, TrustedNetwork: p.TrustedNetwork, Scheduler: p.Scheduler.made(), Preemption: p.Preemption, Priority: p.Priority, MaxRuntime: time.Duration(p.MaxRuntime),
			Defaults: defaults, Limits: limits, PodLabels: p.podLabels(), PodLimits: p.podLimits(),
			Spot: p.Spot, AuxOnSpot: p.AuxOnSpot, MaxIdle: time.Duration(p.MaxIdle), Classes: p.classes()}
		if job := jobs[p.Name]; job != nil {
			if made, err = p.completeJob(*c, made.WithJob(job)); err != nil {
				return nil, err
			}
		}
		set = append(set, made)
	}
	return set, nil
}
