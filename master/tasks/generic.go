package tasks

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/task"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

// generic rejects tasks of other types, whose paths begin in the same way.
func generic[Req, Resp any](fn handler[Req, Resp]) handler[Req, Resp] {
	return func(ctx context.Context, c *rest.Call, k Task, req *Req) (*Resp, error) {
		if k.Type != task.Generic {
			return nil, fault.New(fault.NotFound, "task %s is of type %s, and not a generic task", k.ID, k.Type)
		}
		return fn(ctx, c, k, req)
	}
}

func (d Deps) createGeneric(ctx context.Context, c *rest.Call, req *v1.CreateGenericTaskRequest) (*v1.CreateGenericTaskResponse, error) {
	if err := c.May(auth.Create, auth.Object{Kind: v1.KindTask}); err != nil {
		return nil, err
	}
	made, err := d.StartGeneric(ctx, c, req)
	if err != nil {
		return nil, err
	}
	shown, err := made.Complete.Shown(true)
	resp := &v1.CreateGenericTaskResponse{Config: shown, Warnings: made.Warnings, Remarks: made.Remarks}
	if made.Stored {
		resp.TaskID = made.ID
		d.Changed()
	}
	return resp, err
}

func (d Deps) listGeneric(ctx context.Context, c *rest.Call, req *v1.GetCommandsRequest) (*v1.GetGenericTasksResponse, error) {
	list, page, err := d.chosen(ctx, c, req, Generic())
	resp := &v1.GetGenericTasksResponse{Pagination: page, Tasks: make([]v1.GenericTask, len(list))}
	for i, k := range list {
		resp.Tasks[i] = v1.GenericTask{ID: k.ID, Description: k.Name, State: k.state(), TaskState: k.phase(), Username: k.Owner, DisplayName: k.OwnerName,
			UserID: k.OwnerID, WorkspaceID: k.WorkspaceID, ResourcePool: k.Pool, StartTime: k.CreatedAt, EndTime: k.EndedAt, ExitStatus: k.exit(), JobID: k.JobID,
			ParentID: k.ParentID, ForkedFrom: k.ForkedFrom, NoPause: k.NoPause}
	}
	return resp, err
}

func (k Task) phase() v1.GenericTaskState {
	return v1.GenericTaskState("GENERIC_TASK_STATE_" + k.Phase)
}

// submittedConfig is the configuration of a generic task as it was submitted, for a caller.
func submittedConfig(k Task, who auth.Who) (string, error) {
	shown, _, err := expconf.ShownCommand([]byte(k.Submitted), k.ownedBy(who))
	return string(shown), err
}

func (d Deps) genericConfig(_ context.Context, c *rest.Call, k Task, _ *v1.None) (*v1.GetGenericTaskConfigResponse, error) {
	config, err := submittedConfig(k, c.Who())
	return &v1.GetGenericTaskConfigResponse{Config: config}, err
}

// killGeneric ends a task with its descendants, or the whole tree that the task belongs to.
func (d Deps) killGeneric(ctx context.Context, c *rest.Call, k Task, req *v1.KillGenericTaskRequest) (*v1.Empty, error) {
	id := k.ID
	if req.TaskID != "" && req.TaskID != id {
		return nil, fault.New(fault.Invalid, "taskId: the path has %s, the body %s", id, fault.Clip(req.TaskID))
	}
	if req.KillFromRoot {
		var err error
		if id, err = RootOf(ctx, d.DB, k.ID); err != nil {
			return nil, err
		}
		root, err := Get(ctx, d.DB, id)
		if err != nil {
			return nil, err
		}
		if err := On(d.DB).Allow(c, auth.Change, root); err != nil {
			return nil, err
		}
	}
	return rest.Done[v1.Empty](KillTree(ctx, d.DB, id, "killed by "+c.Who().Username), d.Changed)
}

func (d Deps) pauseGeneric(ctx context.Context, c *rest.Call, k Task, _ *v1.None) (*v1.Empty, error) {
	return rest.Done[v1.Empty](PauseTree(ctx, d.DB, k.ID, "paused by "+c.Who().Username), d.Changed)
}

func (d Deps) unpauseGeneric(ctx context.Context, _ *rest.Call, k Task, _ *v1.None) (*v1.Empty, error) {
	if err := workspaces.OpenIn(ctx, d.DB, k.Pool, k.WorkspaceID); err != nil {
		return nil, err
	}
	return rest.Done[v1.Empty](ResumeTree(ctx, d.DB, k.ID), d.Changed)
}
