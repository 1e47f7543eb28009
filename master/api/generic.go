package api

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	"github.com/detent-ml/detent/master/task"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerGeneric() {
	rest.Serve(a.router, v1.ListGenericTasks, a.listGeneric)
	rest.Serve(a.router, v1.CreateGenericTask, a.createGeneric)
	rest.ServeOn(a.router, v1.GetGenericTaskConfig, a.onTask(), generic(a.genericConfig))
	rest.ServeOn(a.router, v1.KillGenericTask, a.onTask(), generic(a.killGeneric))
	rest.ServeOn(a.router, v1.PauseGenericTask, a.onTask(), generic(a.pauseGeneric))
	rest.ServeOn(a.router, v1.UnpauseGenericTask, a.onTask(), generic(a.unpauseGeneric))
}

// generic rejects tasks of other types, whose paths begin in the same way.
func generic[Req, Resp any](fn func(context.Context, *rest.Call, store.Task, *Req) (*Resp, error)) func(context.Context, *rest.Call, store.Task, *Req) (*Resp, error) {
	return func(ctx context.Context, c *rest.Call, k store.Task, req *Req) (*Resp, error) {
		if k.Type != task.Generic {
			return nil, fault.New(fault.NotFound, "task %s is of type %s, and not a generic task", k.ID, k.Type)
		}
		return fn(ctx, c, k, req)
	}
}

func (a *API) createGeneric(ctx context.Context, c *rest.Call, req *v1.CreateGenericTaskRequest) (*v1.CreateGenericTaskResponse, error) {
	if err := c.May(auth.Create, auth.Object{Kind: v1.KindTask}); err != nil {
		return nil, err
	}
	made, err := a.tasks.StartGeneric(ctx, a.submitter(c), req)
	if err != nil {
		return nil, err
	}
	shown, err := made.Complete.Shown(true)
	resp := &v1.CreateGenericTaskResponse{Config: shown, Warnings: made.Warnings, Remarks: made.Remarks}
	if made.Stored {
		resp.TaskID = made.ID
		a.bus.Publish(store.TopicIntent)
	}
	return resp, err
}

func (a *API) listGeneric(ctx context.Context, c *rest.Call, req *v1.GetCommandsRequest) (*v1.GetGenericTasksResponse, error) {
	list, page, err := a.tasksOf(ctx, c, req, launch.Generic())
	resp := &v1.GetGenericTasksResponse{Pagination: page, Tasks: make([]v1.GenericTask, len(list))}
	for i, k := range list {
		resp.Tasks[i] = v1.GenericTask{ID: k.ID, Description: k.Name, State: taskState(k), TaskState: genericState(k), Username: k.Owner, DisplayName: k.OwnerName,
			UserID: k.OwnerID, WorkspaceID: k.WorkspaceID, ResourcePool: k.Pool, StartTime: k.CreatedAt, EndTime: k.EndedAt, ExitStatus: exitStatus(k), JobID: k.JobID,
			ParentID: k.ParentID, ForkedFrom: k.ForkedFrom, NoPause: k.NoPause}
	}
	return resp, err
}

func genericState(k store.Task) v1.GenericTaskState {
	return v1.GenericTaskState("GENERIC_TASK_STATE_" + k.Phase)
}

// submittedConfig is the configuration of a generic task as it was submitted, for a caller.
func submittedConfig(k store.Task, who auth.Who) (string, error) {
	shown, _, err := expconf.ShownCommand([]byte(k.Submitted), ownerOrAdmin(who, k.OwnerID))
	return string(shown), err
}

func (a *API) genericConfig(_ context.Context, c *rest.Call, k store.Task, _ *v1.None) (*v1.GetGenericTaskConfigResponse, error) {
	config, err := submittedConfig(k, c.Who())
	return &v1.GetGenericTaskConfigResponse{Config: config}, err
}

// killGeneric ends a task with its descendants, or the whole tree that the task belongs to.
func (a *API) killGeneric(ctx context.Context, c *rest.Call, k store.Task, req *v1.KillGenericTaskRequest) (*v1.Empty, error) {
	id := k.ID
	if req.TaskID != "" && req.TaskID != id {
		return nil, fault.New(fault.Invalid, "taskId: the path has %s, the body %s", id, fault.Clip(req.TaskID))
	}
	if req.KillFromRoot {
		var err error
		if id, err = a.db.RootOf(ctx, k.ID); err != nil {
			return nil, err
		}
		root, err := a.db.Task(ctx, id)
		if err != nil {
			return nil, err
		}
		if err := a.onTask().Allow(c, auth.Change, root); err != nil {
			return nil, err
		}
	}
	return a.changed(a.db.KillTree(ctx, id, "killed by "+c.Who().Username))
}

func (a *API) pauseGeneric(ctx context.Context, c *rest.Call, k store.Task, _ *v1.None) (*v1.Empty, error) {
	return a.changed(a.db.PauseTree(ctx, k.ID, "paused by "+c.Who().Username))
}

func (a *API) unpauseGeneric(ctx context.Context, _ *rest.Call, k store.Task, _ *v1.None) (*v1.Empty, error) {
	if err := a.poolOpen(ctx, k.Pool, k.WorkspaceID); err != nil {
		return nil, err
	}
	return a.changed(a.db.ResumeTree(ctx, k.ID))
}

// changed wakes the loop after a change of what users want.
func (a *API) changed(err error) (*v1.Empty, error) {
	if err != nil {
		return nil, err
	}
	a.bus.Publish(store.TopicIntent)
	return &v1.Empty{}, nil
}
