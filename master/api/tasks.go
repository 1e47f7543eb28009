package api

import (
	"context"
	"strconv"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	"github.com/detent-ml/detent/master/task"
	"github.com/detent-ml/detent/master/trial"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerTasks() {
	rest.Serve(a.router, v1.ListTasks, a.liveTasks)
	rest.Serve(a.router, v1.ListOldTasks, a.oldTasks)
	rest.Serve(a.router, v1.CountTasks, a.taskCount)
	rest.ServeOn(a.router, v1.GetTask, a.onTask(), a.task)
	rest.ServeOn(a.router, v1.GetAllocation, a.onAttempt(), a.allocation)
}

func attemptState(s string) v1.TaskState {
	if s == "PENDING" || s == "ASSIGNED" {
		return v1.TaskStateQueued
	}
	return v1.TaskState("STATE_" + s)
}

func wireAttempt(x store.Attempt) v1.Allocation {
	w := v1.Allocation{AllocationID: x.ID, TaskID: trial.PartID(x.TaskID, x.Part), Slots: x.Slots, State: attemptState(x.State), IsReady: x.Ready,
		StartTime: x.StartedAt, EndTime: x.EndedAt, StatusCode: x.ExitCode, WaitingReason: x.Waiting}
	if x.ExitReason != "" {
		w.ExitReason = &x.ExitReason
	}
	return w
}

func (a *API) task(ctx context.Context, c *rest.Call, k store.Task, _ *v1.None) (*v1.GetTaskResponse, error) {
	list, err := a.db.Attempts(ctx, k.ID, k.Part)
	if err != nil {
		return nil, err
	}
	resp := &v1.GetTaskResponse{Task: v1.Task{TaskID: k.Called(), TaskType: v1.TaskType("TASK_TYPE_" + k.Type), StartTime: k.CreatedAt, EndTime: k.EndedAt,
		ParentID: k.ParentID, ForkedFrom: k.ForkedFrom, NoPause: k.NoPause}}
	if k.Type == task.Generic {
		config, err := submittedConfig(k, c.Who())
		if err != nil {
			return nil, err
		}
		state := genericState(k)
		resp.Task.Config, resp.Task.TaskState = &config, &state
	}
	for _, x := range list {
		resp.Task.Allocations = append(resp.Task.Allocations, wireAttempt(x))
	}
	return resp, nil
}

func (a *API) allocation(_ context.Context, _ *rest.Call, x store.Attempt, _ *v1.None) (*v1.AllocationResponse, error) {
	return &v1.AllocationResponse{Allocation: wireAttempt(x)}, nil
}

func (a *API) taskCount(ctx context.Context, c *rest.Call, _ *v1.None) (*v1.TaskCountResponse, error) {
	n, err := a.db.TaskCounts(ctx, c.Scope())
	return &v1.TaskCountResponse{Commands: n["COMMAND"], Notebooks: n["NOTEBOOK"], Shells: n["SHELL"], Tensorboards: n["TENSORBOARD"]}, err
}

// liveAttempts reads the attempts that have not ended, with their resources and ports by the ids of the attempts.
func (a *API) liveAttempts(ctx context.Context, in auth.Scope) (attempts []store.Attempt, resources map[string][]v1.ResourcesSummary, ports map[string]expconf.ProxyPorts, err error) {
	if attempts, err = a.db.LiveAttempts(ctx, in); err != nil {
		return nil, nil, nil, err
	}
	if resources, err = a.nodes.Resources(ctx, in); err != nil {
		return nil, nil, nil, err
	}
	ports, err = a.db.LivePorts(ctx, in)
	return attempts, resources, ports, err
}

func (a *API) liveTasks(ctx context.Context, c *rest.Call, _ *v1.None) (*v1.GetTasksResponse, error) {
	attempts, resources, ports, err := a.liveAttempts(ctx, c.Scope())
	if err != nil {
		return nil, err
	}
	resp := &v1.GetTasksResponse{AllocationIDToSummary: map[string]v1.AllocationSummary{}}
	for _, x := range attempts {
		resp.AllocationIDToSummary[x.ID] = v1.AllocationSummary{AllocationID: x.ID, TaskID: trial.PartID(x.TaskID, x.Part), Name: listedName(x),
			Priority: &x.Priority, RegisteredTime: &x.QueuedAt, ResourcePool: x.Pool, SlotsNeeded: x.Slots,
			SchedulerType: a.cfg.Pools.Scheduler(x.Pool), Resources: resources[x.ID], ProxyPorts: proxyPorts(x.TaskID, ports[x.ID])}
	}
	return resp, nil
}

// proxyPorts are the ports of a task with the names of their services: the proxy forwards
// /proxy/<service>/.
func proxyPorts(task string, ports expconf.ProxyPorts) []v1.ProxyPortConfig {
	list := make([]v1.ProxyPortConfig, len(ports))
	for i, p := range ports {
		list[i] = v1.ProxyPortConfig{Port: p.ProxyPort, ProxyTcp: optional.Value(p.ProxyTCP), Unauthenticated: optional.Value(p.Unauthenticated),
			ServiceID: task + ":" + strconv.Itoa(p.ProxyPort)}
	}
	return list
}
