package api

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerShells() {
	rest.Serve(a.router, v1.ListShells, a.listShells)
	rest.Serve(a.router, v1.CreateShell, a.createShell)
	rest.ServeOn(a.router, v1.GetShell, a.onTaskOf(launch.Shell()), a.shell)
	rest.ServeOn(a.router, v1.KillShell, a.onTaskOf(launch.Shell()), a.killShell)
	rest.ServeOn(a.router, v1.PrioritizeShell, a.onTaskOf(launch.Shell()), a.prioritizeShell)
	rest.ServeOn(a.router, v1.ReportShellIdle, onIdleTask(), a.reportIdle)
}

// wireShells adds public keys to shells, and private keys on request.
func (a *API) wireShells(ctx context.Context, list []store.Task, private bool) ([]v1.Shell, error) {
	keys, err := a.db.ShellKeys(ctx, idsOf(list, taskID))
	if err != nil {
		return nil, err
	}
	out := make([]v1.Shell, len(list))
	for i, k := range list {
		out[i] = wireShell(k, keys[k.ID])
		if private {
			out[i].PrivateKey = keys[k.ID].PrivateKey
		}
	}
	return out, nil
}

func wireShell(k store.Task, keys store.ShellKeys) v1.Shell {
	user := v1.Struct(keys.AgentUser)
	if len(user) == 0 {
		user = v1.Struct(`{"user":"root","uid":0,"group":"root","gid":0}`)
	}
	return v1.Shell{ID: k.ID, JobID: k.JobID, Description: k.Name, ResourcePool: k.Pool, StartTime: k.CreatedAt, State: taskState(k),
		Username: k.Owner, DisplayName: k.OwnerName, UserID: k.OwnerID, WorkspaceID: k.WorkspaceID, ExitStatus: exitStatus(k),
		AgentUserGroup: user, PublicKey: keys.PublicKey, HostKey: keys.HostPublicKey}
}

func (a *API) oneShell(ctx context.Context, k store.Task, private bool) (v1.Shell, error) {
	list, err := a.wireShells(ctx, []store.Task{k}, private)
	if err != nil {
		return v1.Shell{}, err
	}
	return list[0], nil
}

func (a *API) listShells(ctx context.Context, c *rest.Call, req *v1.GetCommandsRequest) (*v1.GetShellsResponse, error) {
	list, page, err := a.tasksOf(ctx, c, req, launch.Shell())
	if err != nil {
		return nil, err
	}
	resp := &v1.GetShellsResponse{Pagination: page}
	resp.Shells, err = a.wireShells(ctx, list, false)
	return resp, err
}

func (a *API) shell(ctx context.Context, c *rest.Call, k store.Task, _ *v1.None) (*v1.GetShellResponse, error) {
	shell, err := a.oneShell(ctx, k, auth.Can(c.Who(), auth.Enter, ofTask(v1.KindShell)(k)))
	return &v1.GetShellResponse{Shell: shell, Config: taskConfig(k, c.Who())}, err
}

func (a *API) createShell(ctx context.Context, c *rest.Call, req *v1.LaunchShellRequest) (*v1.LaunchShellResponse, error) {
	done, err := a.start(ctx, c, launch.Shell(), launch.TaskRequest{Config: req.Config, Template: req.TemplateName,
		WorkspaceID: req.WorkspaceID, Preview: req.Preview})
	if err != nil {
		return nil, err
	}
	resp := &v1.LaunchShellResponse{Config: done.config, Warnings: done.made.Warnings, Remarks: done.made.Remarks}
	resp.Shell, err = a.oneShell(ctx, done.task, true)
	return resp, err
}

func (a *API) killShell(ctx context.Context, c *rest.Call, k store.Task, _ *v1.None) (*v1.ShellResponse, error) {
	k, err := a.kill(ctx, c, k)
	if err != nil {
		return nil, err
	}
	shell, err := a.oneShell(ctx, k, false)
	return &v1.ShellResponse{Shell: shell}, err
}

func (a *API) prioritizeShell(ctx context.Context, c *rest.Call, k store.Task, req *v1.PriorityRequest) (*v1.ShellResponse, error) {
	k, err := a.prioritize(ctx, k, req)
	if err != nil {
		return nil, err
	}
	shell, err := a.oneShell(ctx, k, false)
	return &v1.ShellResponse{Shell: shell}, err
}
