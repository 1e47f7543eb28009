package api

import (
	"context"

	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	"github.com/detent-ml/detent/master/task"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerNotebooks() {
	rest.Serve(a.router, v1.ListNotebooks, a.listNotebooks)
	rest.Serve(a.router, v1.CreateNotebook, a.createNotebook)
	rest.ServeOn(a.router, v1.GetNotebook, a.onTaskOf(launch.Notebook()), a.notebook)
	rest.ServeOn(a.router, v1.KillNotebook, a.onTaskOf(launch.Notebook()), a.killNotebook)
	rest.ServeOn(a.router, v1.PrioritizeNotebook, a.onTaskOf(launch.Notebook()), a.prioritizeNotebook)
	rest.ServeOn(a.router, v1.ReportNotebookIdle, onIdleTask(), a.reportIdle)
}

func wireNotebook(k store.Task) v1.Notebook {
	w := v1.Notebook{ID: k.ID, JobID: k.JobID, Description: k.Name, ResourcePool: k.Pool, StartTime: k.CreatedAt, State: taskState(k),
		Username: k.Owner, DisplayName: k.OwnerName, UserID: k.OwnerID, WorkspaceID: k.WorkspaceID, ExitStatus: exitStatus(k)}
	if k.ID != "" {
		w.ServiceAddress = task.ProxyPath(k.ID)
	}
	return w
}

func (a *API) listNotebooks(ctx context.Context, c *rest.Call, req *v1.GetCommandsRequest) (*v1.GetNotebooksResponse, error) {
	list, page, err := a.tasksOf(ctx, c, req, launch.Notebook())
	if err != nil {
		return nil, err
	}
	resp := &v1.GetNotebooksResponse{Pagination: page}
	for _, k := range list {
		resp.Notebooks = append(resp.Notebooks, wireNotebook(k))
	}
	return resp, nil
}

func (a *API) notebook(ctx context.Context, c *rest.Call, k store.Task, _ *v1.None) (*v1.GetNotebookResponse, error) {
	return &v1.GetNotebookResponse{Notebook: wireNotebook(k), Config: taskConfig(k, c.Who())}, nil
}

func (a *API) createNotebook(ctx context.Context, c *rest.Call, req *v1.LaunchNotebookRequest) (*v1.LaunchNotebookResponse, error) {
	done, err := a.start(ctx, c, launch.Notebook(), launch.TaskRequest{Config: req.Config, Template: req.TemplateName,
		WorkspaceID: req.WorkspaceID, Preview: req.Preview})
	if err != nil {
		return nil, err
	}
	return &v1.LaunchNotebookResponse{Notebook: wireNotebook(done.task), Config: done.config, Warnings: done.made.Warnings, Remarks: done.made.Remarks}, nil
}

func (a *API) killNotebook(ctx context.Context, c *rest.Call, k store.Task, _ *v1.None) (*v1.NotebookResponse, error) {
	k, err := a.kill(ctx, c, k)
	if err != nil {
		return nil, err
	}
	return &v1.NotebookResponse{Notebook: wireNotebook(k)}, nil
}

func (a *API) prioritizeNotebook(ctx context.Context, c *rest.Call, k store.Task, req *v1.PriorityRequest) (*v1.NotebookResponse, error) {
	k, err := a.prioritize(ctx, k, req)
	if err != nil {
		return nil, err
	}
	return &v1.NotebookResponse{Notebook: wireNotebook(k)}, nil
}
