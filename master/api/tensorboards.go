package api

import (
	"context"
	"slices"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	"github.com/detent-ml/detent/master/task"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerTensorboards() {
	rest.Serve(a.router, v1.ListTensorboards, a.listTensorboards)
	rest.Serve(a.router, v1.CreateTensorboard, a.createTensorboard)
	rest.ServeOn(a.router, v1.GetTensorboard, a.onTaskOf(launch.Tensorboard()), a.tensorboard)
	rest.ServeOn(a.router, v1.KillTensorboard, a.onTaskOf(launch.Tensorboard()), a.killTensorboard)
	rest.ServeOn(a.router, v1.PrioritizeTensorboard, a.onTaskOf(launch.Tensorboard()), a.prioritizeTensorboard)
	rest.ServeOn(a.router, v1.ReportTensorboardIdle, onIdleTask(), a.reportIdle)
}

func (a *API) wireTensorboards(ctx context.Context, list []store.Task) ([]v1.Tensorboard, error) {
	shown, err := a.db.Tensorboards(ctx, idsOf(list, taskID))
	if err != nil {
		return nil, err
	}
	out := make([]v1.Tensorboard, len(list))
	for i, k := range list {
		out[i] = wireTensorboard(k, shown[k.ID])
	}
	return out, nil
}

func wireTensorboard(k store.Task, shown store.Tensorboard) v1.Tensorboard {
	w := v1.Tensorboard{ID: k.ID, JobID: k.JobID, Description: k.Name, ResourcePool: k.Pool, StartTime: k.CreatedAt, State: taskState(k),
		Username: k.Owner, DisplayName: k.OwnerName, UserID: k.OwnerID, WorkspaceID: k.WorkspaceID, ExitStatus: exitStatus(k),
		ExperimentIDs: shown.ExperimentIDs, TrialIDs: shown.TrialIDs}
	if k.ID != "" {
		w.ServiceAddress = task.ProxyPath(k.ID)
	}
	return w
}

func (a *API) oneTensorboard(ctx context.Context, k store.Task) (v1.Tensorboard, error) {
	list, err := a.wireTensorboards(ctx, []store.Task{k})
	if err != nil {
		return v1.Tensorboard{}, err
	}
	return list[0], nil
}

func (a *API) listTensorboards(ctx context.Context, c *rest.Call, req *v1.GetCommandsRequest) (*v1.GetTensorboardsResponse, error) {
	list, page, err := a.tasksOf(ctx, c, req, launch.Tensorboard())
	if err != nil {
		return nil, err
	}
	resp := &v1.GetTensorboardsResponse{Pagination: page}
	resp.Tensorboards, err = a.wireTensorboards(ctx, list)
	return resp, err
}

func (a *API) tensorboard(ctx context.Context, c *rest.Call, k store.Task, _ *v1.None) (*v1.GetTensorboardResponse, error) {
	tensorboard, err := a.oneTensorboard(ctx, k)
	return &v1.GetTensorboardResponse{Tensorboard: tensorboard, Config: taskConfig(k, c.Who())}, err
}

func (a *API) createTensorboard(ctx context.Context, c *rest.Call, req *v1.LaunchTensorboardRequest) (*v1.LaunchTensorboardResponse, error) {
	like, err := a.experimentsLike(ctx, c, auth.ScopeOf(c.Who(), auth.View, v1.KindExperiment), req.Filters)
	if err != nil {
		return nil, err
	}
	done, err := a.start(ctx, c, launch.Tensorboard(), launch.TaskRequest{Config: req.Config, Template: req.TemplateName,
		WorkspaceID: req.WorkspaceID, Preview: req.Preview,
		Shows: &launch.Shows{Experiments: slices.Concat(req.ExperimentIDs, like), Trials: req.TrialIDs, Filtered: req.Filters != nil}})
	if err != nil {
		return nil, err
	}
	resp := &v1.LaunchTensorboardResponse{Config: done.config, Warnings: done.made.Warnings, Remarks: done.made.Remarks}
	if done.task.ID == "" {
		resp.Tensorboard = wireTensorboard(done.task, *done.made.Tensorboard)
		return resp, nil
	}
	resp.Tensorboard, err = a.oneTensorboard(ctx, done.task)
	return resp, err
}

// experimentsLike lists the experiments that match filters; none without filters.
func (a *API) experimentsLike(ctx context.Context, c *rest.Call, in auth.Scope, filters *v1.BulkExperimentFilters) ([]int, error) {
	if filters == nil {
		return nil, nil
	}
	list, _, err := a.chosen(ctx, c, in, filters.ProjectID, &v1.BulkRequest{Filters: filters})
	if err != nil {
		return nil, err
	}
	ids := make([]int, len(list))
	for i, e := range list {
		ids[i] = e.ID
	}
	return ids, nil
}

func (a *API) killTensorboard(ctx context.Context, c *rest.Call, k store.Task, _ *v1.None) (*v1.TensorboardResponse, error) {
	k, err := a.kill(ctx, c, k)
	if err != nil {
		return nil, err
	}
	shown, err := a.oneTensorboard(ctx, k)
	return &v1.TensorboardResponse{Tensorboard: shown}, err
}

func (a *API) prioritizeTensorboard(ctx context.Context, c *rest.Call, k store.Task, req *v1.PriorityRequest) (*v1.TensorboardResponse, error) {
	k, err := a.prioritize(ctx, k, req)
	if err != nil {
		return nil, err
	}
	shown, err := a.oneTensorboard(ctx, k)
	return &v1.TensorboardResponse{Tensorboard: shown}, err
}
