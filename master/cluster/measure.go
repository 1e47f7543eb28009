package cluster

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/master/fault"
)

// A Measured is what a device of a node measures now; nil for what its plugin does not report.
type Measured struct {
	Device                      string // id
	TemperatureC                *int64
	Utilization                 *int64 // percent
	MemoryUsedMiB, MemoryAllMiB *int64
	PowerWatts, PowerLimitWatts *float64
	UncorrectedErrors           *int64
}

// Measure asks a node's Nomad what its devices measure. A node that does not answer is Unavailable.
func (c *Cluster) Measure(ctx context.Context, node string) ([]Measured, error) {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	stats, err := c.api.Nodes().Stats(node, c.query(ctx, c.cfg.Namespace))
	switch {
	case statusOf(err) == http.StatusNotFound:
		return nil, fault.New(fault.NotFound, "Nomad has no node %.40s", node)
	case err != nil:
		return nil, fault.New(fault.Unavailable, "the node's Nomad does not answer: %w", err)
	}
	return measuredOf(stats.DeviceStats), nil
}

func measuredOf(groups []*api.DeviceGroupStats) []Measured {
	var list []Measured
	for _, g := range groups {
		if g == nil {
			continue
		}
		for id, d := range g.InstanceStats {
			if d == nil || d.Stats == nil {
				continue
			}
			of := func(name string) *api.StatValue {
				if v := d.Stats.Attributes[name]; v != nil {
					return v
				}
				return &api.StatValue{}
			}
			memory, power := of("Memory state"), of("Power usage")
			m := Measured{Device: id, TemperatureC: of("Temperature").IntNumeratorVal, Utilization: of("GPU utilization").IntNumeratorVal,
				MemoryUsedMiB: memory.IntNumeratorVal, MemoryAllMiB: memory.IntDenominatorVal,
				PowerWatts: number(power.FloatNumeratorVal, power.IntNumeratorVal), PowerLimitWatts: number(power.FloatDenominatorVal, power.IntDenominatorVal),
				UncorrectedErrors: of("ECC uncorrected errors").IntNumeratorVal}
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b Measured) int { return cmp.Compare(a.Device, b.Device) })
	return list
}

// number is a value that plugins report as either kind of number.
func number(f *float64, n *int64) *float64 {
	if f == nil && n != nil {
		return new(float64(*n))
	}
	return f
}
