package api

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

func (a *API) registerExperiments() {
	rest.Serve(a.router, v1.ListExperiments, a.listExperiments)
	rest.Serve(a.router, v1.CreateExperiment, a.createExperiment)
	rest.Serve(a.router, v1.ListLabels, a.experimentLabels)
	rest.Serve(a.router, v1.ContinueExperiment, a.continueExperiment)
	rest.ServeOn(a.router, v1.GetExperiment, a.onExperiment(), a.experiment)
	rest.ServeOn(a.router, v1.ChangeExperiment, a.onExperiment(), a.patchExperiment)
	rest.ServeOn(a.router, v1.DeleteExperiment, a.onExperiment(), a.act(store.Delete))
	rest.ServeOn(a.router, v1.ActivateExperiment, a.onExperiment(), a.act(store.Activate))
	rest.ServeOn(a.router, v1.PauseExperiment, a.onExperiment(), a.act(store.Pause))
	rest.ServeOn(a.router, v1.CancelExperiment, a.onExperiment(), a.act(store.Cancel))
	rest.ServeOn(a.router, v1.KillExperiment, a.onExperiment(), a.act(store.Kill))
	rest.ServeOn(a.router, v1.ArchiveExperiment, a.onExperiment(), a.act(store.Archive))
	rest.ServeOn(a.router, v1.UnarchiveExperiment, a.onExperiment(), a.act(store.Unarchive))
	rest.ServeOn(a.router, v1.AddExperimentLabel, a.onExperiment(), a.changeLabel(true))
	rest.ServeOn(a.router, v1.RemoveExperimentLabel, a.onExperiment(), a.changeLabel(false))
	rest.RawOn(a.router, v1.GetModelDef, a.onExperiment(), a.modelDef)
	rest.ServeOn(a.router, v1.GetModelDefTree, a.onExperiment(), a.fileTree)
	rest.RawOn(a.router, v1.GetModelDefFile, a.onExperiment(), a.modelFile)
	rest.RawQueryOn(a.router, v1.DownloadModelDefFile, a.onExperiment(), a.downloadFile)
	rest.RawOn(a.router, v1.DownloadOldModelDef, a.onExperiment(), a.downloadModelDef)
	rest.RawQueryOn(a.router, v1.DownloadOldModelDefFile, a.onExperiment(), a.downloadFile)
	rest.ServeOn(a.router, v1.GetValidationHistory, a.onExperiment(), a.validationHistory)
	rest.ServeOn(a.router, v1.GetBestMetric, a.onExperimentHead(), a.bestMetric)
	rest.ServeOn(a.router, v1.ActivateExperiments, workspaces.OnProjectOrAll(a.db.DB), a.actOnMany(store.Activate))
	rest.ServeOn(a.router, v1.PauseExperiments, workspaces.OnProjectOrAll(a.db.DB), a.actOnMany(store.Pause))
	rest.ServeOn(a.router, v1.CancelExperiments, workspaces.OnProjectOrAll(a.db.DB), a.actOnMany(store.Cancel))
	rest.ServeOn(a.router, v1.KillExperiments, workspaces.OnProjectOrAll(a.db.DB), a.actOnMany(store.Kill))
	rest.ServeOn(a.router, v1.ArchiveExperiments, workspaces.OnProjectOrAll(a.db.DB), a.actOnMany(store.Archive))
	rest.ServeOn(a.router, v1.UnarchiveExperiments, workspaces.OnProjectOrAll(a.db.DB), a.actOnMany(store.Unarchive))
	rest.ServeOn(a.router, v1.DeleteExperiments, workspaces.OnProjectOrAll(a.db.DB), a.actOnMany(store.Delete))
}

// wireExperiment is an experiment as who may see it, without its configuration.
func wireExperiment(e store.Experiment) v1.Experiment {
	seconds := e.Seconds
	return v1.Experiment{ID: e.ID, JobID: e.JobID, Name: e.Name, Description: e.Description, Labels: e.Labels, Notes: e.Notes,
		Archived: e.Archived, State: v1.ExperimentState("STATE_" + e.Shown),
		UserID: e.OwnerID, Username: e.Owner, DisplayName: e.OwnerName, ProjectID: e.ProjectID, ProjectName: e.ProjectName,
		ProjectOwnerID: e.ProjectOwnerID, WorkspaceID: e.WorkspaceID, WorkspaceName: e.WorkspaceName, ParentArchived: e.ParentArchived,
		ForkedFrom: e.ParentID, ExternalExperimentID: e.ExternalID, Unmanaged: e.Unmanaged, ResourcePool: e.Pool,
		Progress: e.Progress, StartTime: e.StartedAt, EndTime: e.EndedAt, Duration: &seconds, NumTrials: e.Trials,
		BestTrialID: e.BestTrialID, BestTrialSearcherMetric: e.BestMetric, SearcherType: optional.Value(e.Searcher), SearcherMetric: optional.Value(e.Metric),
		CheckpointCount: e.Checkpoints, CheckpointSize: e.CheckpointBytes, ModelDefinitionSize: int(e.ContextSize), Error: e.Error}
}

func (a *API) experiment(ctx context.Context, c *rest.Call, e store.Experiment, _ *v1.None) (*v1.GetExperimentResponse, error) {
	w, err := a.fullExperiment(ctx, e, c.Who())
	if err != nil {
		return nil, err
	}
	resp := &v1.GetExperimentResponse{Experiment: w, Config: w.Config}
	if !e.Terminal() && !e.Unmanaged {
		if resp.JobSummary, err = queue.Summary(ctx, a.db.DB, a.cfg.Pools, e.JobID); err != nil {
			return nil, err
		}
	}
	if resp.Remarks, err = a.remarks(ctx, e); err != nil {
		return nil, err
	}
	avoided, err := nodes.Avoided(ctx, a.db.DB, e.ID)
	for _, n := range avoided {
		resp.AvoidedNodes = append(resp.AvoidedNodes, v1.AvoidedNode{Node: n.NodeName, Failures: n.Failures})
	}
	return resp, err
}

// fullExperiment adds the fields that lists omit.
func (a *API) fullExperiment(ctx context.Context, e store.Experiment, who auth.Who) (v1.Experiment, error) {
	w := a.withConfig(wireExperiment(e), e, who)
	var parts struct {
		Hyperparameters json.RawMessage `json:"hyperparameters"`
	}
	if err := w.Config.Into(&parts); err == nil {
		w.Hyperparameters = v1.Struct(parts.Hyperparameters)
	}
	freed, err := a.db.RemovedTotal(ctx, e.ID)
	if err != nil {
		return w, err
	}
	w.Freed = &v1.FreedTotal{Checkpoints: freed.Checkpoints, Files: freed.Files, Bytes: freed.Bytes}
	w.TrialIDs, err = a.db.TrialIDs(ctx, e.ID)
	return w, err
}

// experimentFilter translates a list's parameters. Inclusive bounds become exclusive ones.
func experimentFilter(req *v1.GetExperimentsRequest) (store.ExperimentFilter, error) {
	if err := store.CheckPatterns(req.Name, req.Description); err != nil {
		return store.ExperimentFilter{}, err
	}
	f := store.ExperimentFilter{Labels: req.Labels, Users: req.Users, Name: req.Name, Description: req.Description, Archived: req.Archived,
		ProjectID: req.ProjectID, UserIDs: req.UserIDs, IDs: req.IDs, NotIDs: req.NotIDs, Above: req.Above, Below: req.Below}
	if req.From != nil && f.Above == nil {
		f.Above = new(*req.From - 1)
	}
	if req.To != nil && f.Below == nil {
		f.Below = new(*req.To + 1)
	}
	var err error
	if f.States, err = experimentStates(req.States); err != nil {
		return f, err
	}
	f.Sort, f.Desc, err = rest.Sorting(req.Order, map[string]string{"SORT_BY_ID": "", "SORT_BY_DESCRIPTION": "description", "SORT_BY_START_TIME": "start_time",
		"SORT_BY_END_TIME": "end_time", "SORT_BY_STATE": "state", "SORT_BY_NUM_TRIALS": "trials", "SORT_BY_PROGRESS": "progress",
		"SORT_BY_USER": "user", "SORT_BY_NAME": "name", "SORT_BY_FORKED_FROM": "forked_from", "SORT_BY_RESOURCE_POOL": "pool",
		"SORT_BY_PROJECT_ID": "project", "SORT_BY_CHECKPOINT_SIZE": "checkpoint_size", "SORT_BY_CHECKPOINT_COUNT": "checkpoint_count",
		"SORT_BY_SEARCHER_METRIC_VAL": "metric"})
	return f, err
}

// experimentStates converts the API's names of states into store's.
func experimentStates(states []v1.ExperimentState) ([]string, error) {
	var out []string
	for _, s := range states {
		switch {
		case s == v1.ExperimentStateUnspecified:
		case slices.Contains(v1.ExperimentStates, s):
			out = append(out, strings.TrimPrefix(string(s), "STATE_"))
		default:
			return nil, fault.New(fault.Invalid, "states: %q is not a state; expected %s", fault.Clip(string(s)), strings.Trim(fmt.Sprint(v1.ExperimentStates), "[]"))
		}
	}
	return out, nil
}

// experimentPage is the number of experiments in a list without a limit. It is low
// because each experiment contains its configuration.
const experimentPage = 100

// experimentWindow applies the rules for lists of experiments: without a limit there are a
// hundred, and an offset outside the list moves to its nearest end.
func experimentWindow(w v1.Window, total int) v1.Pagination {
	if w.Limit == 0 {
		w.Limit = experimentPage
	}
	if w.Offset < 0 {
		w.Offset += total
	}
	w.Offset = min(max(w.Offset, 0), total)
	p, err := rest.Locate(w, total)
	if err != nil {
		panic("api: an offset within the list is out of its bounds: " + err.Error())
	}
	return p
}

func (a *API) listExperiments(ctx context.Context, c *rest.Call, req *v1.GetExperimentsRequest) (*v1.GetExperimentsResponse, error) {
	f, err := experimentFilter(req)
	if err != nil {
		return nil, err
	}
	total, err := a.db.CountExperiments(ctx, c.Scope(), f)
	if err != nil {
		return nil, err
	}
	resp := &v1.GetExperimentsResponse{Pagination: experimentWindow(req.Window, total)}
	n := resp.Pagination.EndIndex - resp.Pagination.StartIndex
	if n == 0 {
		return resp, nil
	}
	list, err := a.db.Experiments(ctx, c.Scope(), f, resp.Pagination.StartIndex, n)
	if err != nil {
		return nil, err
	}
	resp.Pagination.EndIndex = resp.Pagination.StartIndex + len(list)
	resp.Experiments = make([]v1.Experiment, len(list))
	for i, e := range list {
		if resp.Experiments[i] = wireExperiment(e); !req.WithoutConfig { // most of a list's weight
			resp.Experiments[i] = a.withConfig(resp.Experiments[i], e, c.Who())
		}
	}
	return resp, nil
}

func (a *API) experimentLabels(ctx context.Context, c *rest.Call, req *v1.GetExperimentLabelsRequest) (*v1.LabelsResponse, error) {
	labels, err := a.db.ExperimentLabels(ctx, c.Scope(), req.ProjectID)
	return &v1.LabelsResponse{Labels: labels}, err
}

// remarks are remarks about an experiment for users that are not errors.
func (a *API) remarks(ctx context.Context, e store.Experiment) ([]string, error) {
	if e.Unmanaged || e.BestMetric != nil || optional.Value(e.Metric) == "" {
		return nil, nil
	}
	names, err := metrics.ValidationNames(ctx, a.db.DB, e.ID)
	if err != nil || len(names) == 0 && e.State != "COMPLETED" {
		return nil, err
	}
	if s := metrics.MissingMetric(*e.Metric, names); s != "" {
		return []string{s}, nil
	}
	return nil, nil
}
