package task

import (
	"cmp"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/optional"
)

// defaultWeight is the weight of an affinity or spread without one, as in Nomad.
const defaultWeight = 50

// overlay returns what an attempt's environment.nomad adds to its job. It omits folders of the
// node, which drivers and runners mount like bind_mounts.
func overlay(n *expconf.Nomad) jobspecs.Overlay {
	if n == nil {
		return jobspecs.Overlay{}
	}
	o := jobspecs.Overlay{Meta: n.Meta}
	for _, c := range n.Constraints {
		if expconf.OnDevices(c.Attribute) {
			continue // the scheduler has chosen devices that meet it, and the job names these
		}
		o.Constraints = append(o.Constraints, jobspecs.Constraint(c))
	}
	for _, a := range n.Affinities {
		o.Affinities = append(o.Affinities, jobspecs.Affinity{Constraint: jobspecs.Constraint{Attribute: a.Attribute, Operator: a.Operator, Value: a.Value},
			Weight: cmp.Or(optional.Value(a.Weight), defaultWeight)})
	}
	for _, s := range n.Spread {
		spread := jobspecs.Spread{Attribute: s.Attribute, Weight: cmp.Or(optional.Value(s.Weight), defaultWeight)}
		for _, t := range s.Targets {
			spread.Targets = append(spread.Targets, jobspecs.SpreadTarget(t))
		}
		o.Spreads = append(o.Spreads, spread)
	}
	for _, v := range n.Volumes {
		o.Volumes = append(o.Volumes, jobspecs.Volume{Name: v.Name, Path: v.ContainerPath, ReadOnly: v.ReadOnly})
	}
	return o
}
