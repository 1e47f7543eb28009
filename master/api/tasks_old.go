package api

import (
	"context"

	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	"github.com/detent-ml/detent/master/task"
	"github.com/detent-ml/detent/master/trial"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) oldTasks(ctx context.Context, c *rest.Call, _ *v1.None) (*map[string]v1.OldTask, error) {
	attempts, resources, ports, err := a.liveAttempts(ctx, c.Scope())
	if err != nil {
		return nil, err
	}
	out := map[string]v1.OldTask{}
	for _, x := range attempts {
		old := v1.OldTask{TaskID: trial.PartID(x.TaskID, x.Part), AllocationID: x.ID, Name: allocationName(x), RegisteredTime: x.QueuedAt, ResourcePool: x.Pool,
			SlotsNeeded: x.Slots, Resources: oldResources(resources[x.ID]), SchedulerType: a.cfg.Pools.Scheduler(x.Pool), Priority: x.Priority, ProxyPorts: []v1.OldPort{}}
		for _, p := range proxyPorts(x.TaskID, ports[x.ID]) {
			old.ProxyPorts = append(old.ProxyPorts, v1.OldPort(p))
		}
		out[x.ID] = old
	}
	return &out, nil
}

func oldResources(list []v1.ResourcesSummary) []v1.OldResource {
	var out []v1.OldResource
	for _, s := range list {
		devices := map[string][]v1.Device{}
		for node, d := range s.AgentDevices {
			devices[node] = append([]v1.Device{}, d.Devices...) // never null
		}
		out = append(out, v1.OldResource{ResourcesID: s.ResourcesID, ResourcesType: "docker-container",
			AllocationID: s.AllocationID, AgentDevices: devices, ContainerID: s.ContainerID, Started: s.Started, Exited: s.Exited})
	}
	return out
}

// listedName is the name of an attempt in lists: that of a trial has its id, by which everything else calls it.
func listedName(x store.Attempt) string {
	if x.TrialID != nil {
		return allocationName(x)
	}
	return x.TaskName
}

// allocationName is the name of an attempt in clients of Determined.
func allocationName(x store.Attempt) string {
	return task.Called(x.TaskType, x.TaskID, x.TaskName, optional.Value(x.ExperimentID), optional.Value(x.TrialID))
}
