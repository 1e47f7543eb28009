package task

import (
	"slices"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/pool"
)

// overlay returns what an attempt's environment.nomad adds to its job. It omits folders of the
// node, which drivers and runners mount like bind_mounts.
func overlay(n *expconf.Nomad) jobspecs.Overlay {
	if n == nil {
		return jobspecs.Overlay{}
	}
	constraints, affinities, spreads := pool.Asked(n)
	// The scheduler has chosen devices that meet what is said of devices, and the job names these.
	constraints = slices.DeleteFunc(constraints, func(c pool.Comparison) bool { return expconf.OnDevices(c.Attribute) })
	o := jobspecs.Overlay{Meta: n.Meta, Constraints: constraints, Affinities: affinities, Spreads: spreads}
	for _, v := range n.Volumes {
		o.Volumes = append(o.Volumes, jobspecs.Volume{Name: v.Name, Path: v.ContainerPath, ReadOnly: v.ReadOnly})
	}
	return o
}
