package api

import (
	"cmp"
	"context"
	"slices"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerPools() {
	rest.Serve(a.router, v1.ListPools, a.listPools)
}

// poolCount has a pool's current numbers.
type poolCount struct {
	nodes, slots, used, aux, queued, scheduled int
	perNode                                    int // the most slots of one node
	brand                                      string
}

// countSlots counts the nodes of a pool and their slots.
func (a *API) countSlots(pool string, nodes []store.NodeRow) poolCount {
	var n poolCount
	for _, node := range nodes {
		s := a.cfg.Inventory(pool, node)
		if s == nil || node.Status != "ready" {
			continue
		}
		n.nodes++
		n.perNode = max(n.perNode, len(s.Slots))
		for _, slot := range s.Slots {
			if slot.Device != "" {
				n.brand = slot.Brand
			}
			if s.Usable && slot.Healthy && slot.Enabled && slot.Taken == "" {
				n.slots++
			}
		}
	}
	return n
}

// countPools counts for all pools, with the attempts that they run and that wait.
func (a *API) countPools(ctx context.Context) (map[string]poolCount, error) {
	nodes, err := a.db.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	held, err := a.db.PoolLoad(ctx)
	if err != nil {
		return nil, err
	}
	counts := make(map[string]poolCount, len(a.cfg.Pools))
	for _, p := range a.cfg.Pools {
		counts[p.Name] = a.countSlots(p.Name, nodes)
	}
	for _, h := range held {
		n := counts[h.Pool]
		n.used, n.aux, n.queued, n.scheduled = h.Slots, h.Aux, h.Queued, h.Scheduled
		counts[h.Pool] = n
	}
	return counts, nil
}

func (a *API) listPools(ctx context.Context, c *rest.Call, req *v1.GetListRequest) (*v1.GetResourcePoolsResponse, error) {
	counts, err := a.countPools(ctx)
	if err != nil {
		return nil, err
	}
	pools, page, err := rest.Cut(slices.Clone(a.cfg.Pools), req.Window)
	if err != nil {
		return nil, err
	}
	resp := &v1.GetResourcePoolsResponse{Pagination: &page}
	for _, p := range pools {
		resp.ResourcePools = append(resp.ResourcePools, a.wirePool(&p, counts[p.Name]))
	}
	return resp, nil
}

// slotType is a kind of slot on the wire.
func slotType(kind expconf.DeviceType) v1.DeviceType {
	switch kind {
	case expconf.CUDA:
		return v1.DeviceTypeCuda
	case expconf.ROCM:
		return v1.DeviceTypeRocm
	}
	return v1.DeviceTypeCpu
}

// schedulerTypes and fittings are those of pools on the wire.
var (
	schedulerTypes = map[pool.SchedulerType]v1.SchedulerType{pool.Priority: v1.SchedulerTypePriority, "": v1.SchedulerTypePriority,
		pool.FairShare: v1.SchedulerTypeFairShare, pool.RoundRobin: v1.SchedulerTypeRoundRobin}
	fittings = map[pool.Fitting]v1.FittingPolicy{pool.BestFit: v1.FittingPolicyBest, "": v1.FittingPolicyBest, pool.WorstFit: v1.FittingPolicyWorst}
)

// wirePool fills the fields that have a meaning here. The rest are of cloud
// providers and of Docker, and clients insist that they be there.
func (a *API) wirePool(p *pool.Pool, n poolCount) v1.ResourcePool {
	w := v1.ResourcePool{Name: p.Name, Description: p.Description, Type: v1.ResourcePoolTypeStatic, NumAgents: n.nodes,
		SlotsAvailable: n.slots, SlotsUsed: n.used, SlotsPerAgent: n.perNode, SlotType: slotType(p.SlotType()),
		AuxContainerCapacity: p.MaxAux * n.nodes, AuxContainerCapacityPerAgent: p.MaxAux, AuxContainersRunning: n.aux,
		DefaultComputePool: p.Compute, DefaultAuxPool: p.Aux, Preemptible: p.Preempts(), MinAgents: n.nodes, MaxAgents: n.nodes,
		Location: cmp.Or(p.Region, "on-prem"), ClusterName: a.cfg.ClusterName, MasterURL: a.cfg.PublicURL,
		SchedulerType: schedulerTypes[p.Scheduler.Type], SchedulerFittingPolicy: fittings[p.Scheduler.Fitting],
		Accelerator: n.brand, Stats: &v1.QueueStats{QueuedCount: n.queued, ScheduledCount: n.scheduled}}
	if w.SchedulerType == v1.SchedulerTypePriority {
		w.Details.PriorityScheduler = &v1.ResourcePoolPrioritySchedulerDetail{DefaultPriority: p.Priority, Preemption: p.Preemption}
	}
	return w
}

// scheduler is the type of a pool's scheduler in Determined's words; priority for a pool that
// is not there any more.
func (a *API) scheduler(name string) string {
	if p := a.cfg.Pools.Named(name); p != nil && p.Scheduler.Type != "" {
		return string(p.Scheduler.Type)
	}
	return string(pool.Priority)
}
