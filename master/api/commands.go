package api

import (
	"context"

	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerCommands() {
	rest.Serve(a.router, v1.ListCommands, a.listCommands)
	rest.Serve(a.router, v1.CreateCommand, a.createCommand)
	rest.ServeOn(a.router, v1.GetCommand, a.onTaskOf(launch.Command()), a.command)
	rest.ServeOn(a.router, v1.KillCommand, a.onTaskOf(launch.Command()), a.killCommand)
	rest.ServeOn(a.router, v1.PrioritizeCommand, a.onTaskOf(launch.Command()), a.prioritizeCommand)
}

func wireCommand(k store.Task) v1.Command {
	return v1.Command{ID: k.ID, JobID: k.JobID, Description: k.Name, ResourcePool: k.Pool, StartTime: k.CreatedAt, State: taskState(k),
		Username: k.Owner, DisplayName: k.OwnerName, UserID: k.OwnerID, WorkspaceID: k.WorkspaceID, ExitStatus: exitStatus(k)}
}

func (a *API) listCommands(ctx context.Context, c *rest.Call, req *v1.GetCommandsRequest) (*v1.GetCommandsResponse, error) {
	list, page, err := a.tasksOf(ctx, c, req, launch.Command())
	if err != nil {
		return nil, err
	}
	resp := &v1.GetCommandsResponse{Pagination: page}
	for _, k := range list {
		resp.Commands = append(resp.Commands, wireCommand(k))
	}
	return resp, nil
}

func (a *API) command(ctx context.Context, c *rest.Call, k store.Task, _ *v1.None) (*v1.GetCommandResponse, error) {
	return &v1.GetCommandResponse{Command: wireCommand(k), Config: taskConfig(k, c.Who())}, nil
}

func (a *API) createCommand(ctx context.Context, c *rest.Call, req *v1.LaunchCommandRequest) (*v1.LaunchCommandResponse, error) {
	done, err := a.start(ctx, c, launch.Command(), launch.TaskRequest{Config: req.Config, Template: req.TemplateName,
		WorkspaceID: req.WorkspaceID, Preview: req.Preview})
	if err != nil {
		return nil, err
	}
	return &v1.LaunchCommandResponse{Command: wireCommand(done.task), Config: done.config, Warnings: done.made.Warnings, Remarks: done.made.Remarks}, nil
}

func (a *API) killCommand(ctx context.Context, c *rest.Call, k store.Task, _ *v1.None) (*v1.KillCommandResponse, error) {
	k, err := a.kill(ctx, c, k)
	if err != nil {
		return nil, err
	}
	return &v1.KillCommandResponse{Command: wireCommand(k)}, nil
}

func (a *API) prioritizeCommand(ctx context.Context, c *rest.Call, k store.Task, req *v1.PriorityRequest) (*v1.KillCommandResponse, error) {
	k, err := a.prioritize(ctx, k, req)
	if err != nil {
		return nil, err
	}
	return &v1.KillCommandResponse{Command: wireCommand(k)}, nil
}
