package api

import (
	"context"

	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/store"
	"github.com/detent-ml/detent/master/task"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) oldTasks(ctx context.Context, c *call, _ *v1.None) (*map[string]v1.OldTask, error) {
	attempts, err := a.db.LiveAttempts(ctx, c.scope)
	if err != nil {
		return nil, err
	}
	holdings, err := a.db.Holdings(ctx, c.scope, "")
	if err != nil {
		return nil, err
	}
	slots, err := a.slotsByNode(ctx)
	if err != nil {
		return nil, err
	}
	ports, err := a.db.LivePorts(ctx, c.scope)
	if err != nil {
		return nil, err
	}
	resources := map[string][]v1.OldResource{}
	for _, h := range holdings {
		s := a.resourcesSummary(h, slots)
		devices := s.AgentDevices[h.NodeName].Devices
		if devices == nil {
			devices = []v1.Device{}
		}
		resources[h.AllocationID] = append(resources[h.AllocationID], v1.OldResource{ResourcesID: s.ResourcesID, ResourcesType: "docker-container",
			AllocationID: h.AllocationID, AgentDevices: map[string][]v1.Device{h.NodeName: devices}, ContainerID: s.ContainerID, Started: s.Started, Exited: s.Exited})
	}
	out := map[string]v1.OldTask{}
	for _, x := range attempts {
		old := v1.OldTask{TaskID: x.TaskID, AllocationID: x.ID, Name: allocationName(x), RegisteredTime: x.QueuedAt, ResourcePool: x.Pool,
			SlotsNeeded: x.Slots, Resources: resources[x.ID], SchedulerType: a.scheduler(x.Pool), Priority: x.Priority, ProxyPorts: []v1.OldPort{}}
		for _, p := range proxyPorts(x.TaskID, ports[x.ID]) {
			old.ProxyPorts = append(old.ProxyPorts, v1.OldPort(p))
		}
		out[x.ID] = old
	}
	return &out, nil
}

// allocationName is the name of an attempt in clients of Determined.
func allocationName(x store.Attempt) string {
	return task.Called(x.TaskType, x.TaskID, x.TaskName, optional.Value(x.ExperimentID), optional.Value(x.TrialID))
}
