package tasks

import (
	"context"
	"strconv"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/task"
	"github.com/detent-ml/detent/master/trial"
	v1 "github.com/detent-ml/detent/master/v1"
)

// liveAttempts reads the attempts that have not ended, with their resources and ports by the ids of the attempts.
func (d Deps) liveAttempts(ctx context.Context, in auth.Scope) (attempts []Attempt, resources map[string][]v1.ResourcesSummary, ports map[string]expconf.ProxyPorts, err error) {
	if attempts, err = LiveAttempts(ctx, d.DB, in); err != nil {
		return nil, nil, nil, err
	}
	if resources, err = d.Nodes.Resources(ctx, in); err != nil {
		return nil, nil, nil, err
	}
	ports, err = LivePorts(ctx, d.DB, in)
	return attempts, resources, ports, err
}

func (d Deps) liveTasks(ctx context.Context, c *rest.Call, _ *v1.None) (*v1.GetTasksResponse, error) {
	attempts, resources, ports, err := d.liveAttempts(ctx, c.Scope())
	if err != nil {
		return nil, err
	}
	resp := &v1.GetTasksResponse{AllocationIDToSummary: map[string]v1.AllocationSummary{}}
	for _, x := range attempts {
		resp.AllocationIDToSummary[x.ID] = v1.AllocationSummary{AllocationID: x.ID, TaskID: trial.PartID(x.TaskID, x.Part), Name: listedName(x),
			Priority: &x.Priority, RegisteredTime: &x.QueuedAt, ResourcePool: x.Pool, SlotsNeeded: x.Slots,
			SchedulerType: d.Nodes.Pools.Scheduler(x.Pool), Resources: resources[x.ID], ProxyPorts: proxyPorts(x.TaskID, ports[x.ID])}
	}
	return resp, nil
}

// proxyPorts are the ports of a task with the names of their services: the proxy forwards
// /proxy/<service>/.
func proxyPorts(task string, ports expconf.ProxyPorts) []v1.ProxyPortConfig {
	return each.Of(ports, func(p expconf.ProxyPort) v1.ProxyPortConfig {
		return v1.ProxyPortConfig{Port: p.ProxyPort, ProxyTcp: optional.Value(p.ProxyTCP), Unauthenticated: optional.Value(p.Unauthenticated),
			ServiceID: task + ":" + strconv.Itoa(p.ProxyPort)}
	})
}

// oldTasks is liveTasks in the form for clients from before /api/v1.
func (d Deps) oldTasks(ctx context.Context, c *rest.Call, _ *v1.None) (*map[string]v1.OldTask, error) {
	attempts, resources, ports, err := d.liveAttempts(ctx, c.Scope())
	if err != nil {
		return nil, err
	}
	out := map[string]v1.OldTask{}
	for _, x := range attempts {
		old := v1.OldTask{TaskID: trial.PartID(x.TaskID, x.Part), AllocationID: x.ID, Name: allocationName(x), RegisteredTime: x.QueuedAt, ResourcePool: x.Pool,
			SlotsNeeded: x.Slots, Resources: oldResources(resources[x.ID]), SchedulerType: d.Nodes.Pools.Scheduler(x.Pool), Priority: x.Priority, ProxyPorts: []v1.OldPort{}}
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
func listedName(x Attempt) string {
	if x.TrialID != nil {
		return allocationName(x)
	}
	return x.TaskName
}

// allocationName is the name of an attempt in clients of Determined.
func allocationName(x Attempt) string {
	return task.Called(x.TaskType, x.TaskID, x.TaskName, optional.Value(x.ExperimentID), optional.Value(x.TrialID))
}
