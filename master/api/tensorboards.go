package api

import (
	"context"
	"slices"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/store"
	"github.com/detent-ml/detent/master/task"
	v1 "github.com/detent-ml/detent/master/v1"
)

// mostShown bounds the trials of one TensorBoard: it reads all of their files.
const mostShown = 100

func (a *API) registerTensorboards() {
	serve(a, v1.ListTensorboards, a.listTensorboards)
	serve(a, v1.CreateTensorboard, a.createTensorboard)
	serve(a, v1.GetTensorboard, a.tensorboard)
	serve(a, v1.KillTensorboard, a.killTensorboard)
	serve(a, v1.PrioritizeTensorboard, a.prioritizeTensorboard)
	serve(a, v1.ReportTensorboardIdle, a.reportIdle)
}

func (a *API) wireTensorboards(ctx context.Context, list []store.Task) ([]v1.Tensorboard, error) {
	shown, err := a.db.Tensorboards(ctx, idsOf(list))
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

func (a *API) listTensorboards(ctx context.Context, c *call, _ *v1.None) (*v1.GetTensorboardsResponse, error) {
	list, page, err := a.tasksOf(ctx, c, tensorboards())
	if err != nil {
		return nil, err
	}
	resp := &v1.GetTensorboardsResponse{Pagination: page}
	resp.Tensorboards, err = a.wireTensorboards(ctx, list)
	return resp, err
}

func (a *API) tensorboard(ctx context.Context, c *call, _ *v1.None) (*v1.GetTensorboardResponse, error) {
	k, err := a.taskFor(ctx, c, tensorboards(), auth.View)
	if err != nil {
		return nil, err
	}
	resp := &v1.GetTensorboardResponse{Config: taskConfig(k, c.who)}
	resp.Tensorboard, err = a.oneTensorboard(ctx, k)
	return resp, err
}

func (a *API) createTensorboard(ctx context.Context, c *call, req *v1.LaunchTensorboardRequest) (*v1.LaunchTensorboardResponse, error) {
	shown, err := a.shownBy(ctx, c, req)
	if err != nil {
		return nil, err
	}
	done, err := a.launch(ctx, c, tensorboards(), launch{config: req.Config, template: req.TemplateName,
		workspaceID: req.WorkspaceID, preview: req.Preview, tensorboard: &shown})
	if err != nil {
		return nil, err
	}
	resp := &v1.LaunchTensorboardResponse{Config: done.config, Warnings: done.warnings, Remarks: done.remarks}
	if done.task.ID == "" {
		resp.Tensorboard = wireTensorboard(done.task, shown)
		return resp, nil
	}
	resp.Tensorboard, err = a.oneTensorboard(ctx, done.task)
	return resp, err
}

// shownBy checks what a TensorBoard is asked to show: that all of it is there,
// that the caller may see it, that its files can be read, and that it is not too
// much.
func (a *API) shownBy(ctx context.Context, c *call, req *v1.LaunchTensorboardRequest) (store.Tensorboard, error) {
	like, err := a.experimentsLike(ctx, req.Filters)
	if err != nil {
		return store.Tensorboard{}, err
	}
	t := store.Tensorboard{ExperimentIDs: unique(slices.Concat(req.ExperimentIDs, like)), TrialIDs: unique(req.TrialIDs)}
	switch {
	case len(t.ExperimentIDs)+len(t.TrialIDs) > 0:
	case req.Filters != nil:
		return t, fault.New(fault.Invalid, "a TensorBoard needs something to show: no experiment passes the filters")
	default:
		return t, fault.New(fault.Invalid, "a TensorBoard needs something to show: name experiments in experimentIds or trials in trialIds")
	}
	if n := max(len(t.ExperimentIDs), len(t.TrialIDs)); n > mostShown {
		return t, tooMuchShown(n)
	}
	for _, id := range t.ExperimentIDs {
		e, err := a.db.Experiment(ctx, id)
		if err != nil {
			return t, err
		}
		if err := c.may(auth.View, auth.Object{Kind: "experiment", OwnerID: e.OwnerID}); err != nil {
			return t, err
		}
	}
	for _, id := range t.TrialIDs {
		trial, err := a.db.Trial(ctx, id)
		if err != nil {
			return t, err
		}
		if err := c.may(auth.View, auth.Object{Kind: "trial", OwnerID: trial.OwnerID}); err != nil {
			return t, err
		}
	}
	rows, err := a.db.ShownTrials(ctx, t)
	if err != nil {
		return t, err
	}
	shown, trials, err := task.Shown(rows)
	if err != nil {
		return t, err
	}
	if trials > mostShown {
		return t, tooMuchShown(trials)
	}
	for _, e := range shown {
		if kind := e.Config.CheckpointStorage.Type; !slices.Contains(a.cfg.Site.Capabilities.Storage, kind) {
			return t, fault.New(fault.Invalid, "the event files of experiment %d lie in storage of type %s, which this cluster cannot read", e.ID, kind)
		}
	}
	if _, _, err := expconf.TensorboardSources(a.cfg.ClusterID, shown); err != nil {
		return t, fault.New(fault.Invalid, "%w", err)
	}
	return t, nil
}

// experimentsLike lists the experiments that pass filters; none without them.
func (a *API) experimentsLike(ctx context.Context, filters *v1.BulkExperimentFilters) ([]int, error) {
	if filters == nil {
		return nil, nil
	}
	list, _, err := a.chosen(ctx, filters.ProjectID, &v1.BulkRequest{Filters: filters})
	if err != nil {
		return nil, err
	}
	ids := make([]int, len(list))
	for i, e := range list {
		ids[i] = e.ID
	}
	return ids, nil
}

func tooMuchShown(n int) error {
	return fault.New(fault.Invalid, "a TensorBoard shows at most %d trials, and these are %d; name some of them in trialIds", mostShown, n)
}

func (a *API) killTensorboard(ctx context.Context, c *call, _ *v1.None) (*v1.TensorboardResponse, error) {
	k, err := a.kill(ctx, c, tensorboards())
	if err != nil {
		return nil, err
	}
	shown, err := a.oneTensorboard(ctx, k)
	return &v1.TensorboardResponse{Tensorboard: shown}, err
}

func (a *API) prioritizeTensorboard(ctx context.Context, c *call, req *v1.PriorityRequest) (*v1.TensorboardResponse, error) {
	k, err := a.prioritize(ctx, c, tensorboards(), req)
	if err != nil {
		return nil, err
	}
	shown, err := a.oneTensorboard(ctx, k)
	return &v1.TensorboardResponse{Tensorboard: shown}, err
}

// unique keeps the first of each number.
func unique(ids []int) []int {
	out := []int{}
	for _, id := range ids {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}
