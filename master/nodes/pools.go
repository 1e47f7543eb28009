package nodes

import (
	"cmp"
	"context"
	"slices"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (d Deps) listPools(ctx context.Context, c *rest.Call, req *v1.GetListRequest) (*v1.GetResourcePoolsResponse, error) {
	list, err := List(ctx, d.DB)
	if err != nil {
		return nil, err
	}
	held, err := poolLoads(ctx, d.DB)
	if err != nil {
		return nil, err
	}
	loads := each.Keyed(held, func(h poolLoad) string { return h.Pool })
	pools, page, err := rest.Cut(slices.Clone(d.Pools), req.Window)
	if err != nil {
		return nil, err
	}
	shown := each.Of(pools, func(p pool.Pool) v1.ResourcePool { return d.wirePool(&p, d.countSlots(p.Name, list), loads[p.Name]) })
	return &v1.GetResourcePoolsResponse{Pagination: &page, ResourcePools: shown}, nil
}

// schedulerTypes and fittings are those of pools on the wire.
var (
	schedulerTypes = map[pool.SchedulerType]v1.SchedulerType{pool.Priority: v1.SchedulerTypePriority, "": v1.SchedulerTypePriority,
		pool.FairShare: v1.SchedulerTypeFairShare, pool.RoundRobin: v1.SchedulerTypeRoundRobin}
	fittings = map[pool.Fitting]v1.FittingPolicy{pool.BestFit: v1.FittingPolicyBest, "": v1.FittingPolicyBest, pool.WorstFit: v1.FittingPolicyWorst}
)

// wirePool fills the fields that have a meaning here. The rest are of cloud
// providers and of Docker, and clients insist that they be there.
func (d Deps) wirePool(p *pool.Pool, n PoolSlots, h poolLoad) v1.ResourcePool {
	w := v1.ResourcePool{Name: p.Name, Description: p.Description, Type: v1.ResourcePoolTypeStatic, NumAgents: n.Nodes,
		SlotsAvailable: n.Slots, SlotsUsed: h.Slots, SlotsPerAgent: n.PerNode, SlotType: slotType(p.SlotType()),
		AuxContainerCapacity: p.MaxAux * n.Nodes, AuxContainerCapacityPerAgent: p.MaxAux, AuxContainersRunning: h.Aux,
		DefaultComputePool: p.Compute, DefaultAuxPool: p.Aux, Preemptible: p.Preempts(), MinAgents: n.Nodes, MaxAgents: n.Nodes,
		Location: cmp.Or(p.Region, "on-prem"), ClusterName: d.ClusterName, MasterURL: d.PublicURL,
		SchedulerType: schedulerTypes[p.Scheduler.Type], SchedulerFittingPolicy: fittings[p.Scheduler.Fitting],
		Accelerator: n.Brand, Stats: &v1.QueueStats{QueuedCount: h.Queued, ScheduledCount: h.Scheduled}}
	if w.SchedulerType == v1.SchedulerTypePriority {
		w.Details.PriorityScheduler = &v1.ResourcePoolPrioritySchedulerDetail{DefaultPriority: p.Priority, Preemption: p.Preemption}
	}
	return w
}
