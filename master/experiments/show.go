package experiments

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// wireExperiment is an experiment as who may see it, without its configuration.
func wireExperiment(e Experiment) v1.Experiment {
	seconds := e.Seconds
	return v1.Experiment{ID: e.ID, JobID: e.JobID, Name: e.Name, Description: e.Description, Labels: e.Labels, Notes: e.Notes,
		Archived: e.Archived, State: v1.ExperimentState("STATE_" + e.Shown),
		UserID: e.OwnerID, Username: e.Owner, DisplayName: e.OwnerName, ProjectID: e.ProjectID, ProjectName: e.ProjectName,
		ProjectOwnerID: e.ProjectOwnerID, WorkspaceID: e.WorkspaceID, WorkspaceName: e.WorkspaceName, ParentArchived: e.ParentArchived,
		ForkedFrom: e.ParentID, BranchEvent: e.BranchEvent, ExternalExperimentID: e.ExternalID, Unmanaged: e.Unmanaged, ResourcePool: e.Pool,
		Progress: e.Progress, StartTime: e.StartedAt, EndTime: e.EndedAt, Duration: &seconds, NumTrials: e.Trials,
		BestTrialID: e.BestTrialID, BestTrialSearcherMetric: e.BestMetric, SearcherType: optional.Value(e.Searcher), SearcherMetric: optional.Value(e.Metric),
		CheckpointCount: e.Checkpoints, CheckpointSize: e.CheckpointBytes, ModelDefinitionSize: int(e.ContextSize), Error: e.Error}
}

func (d Deps) get(ctx context.Context, c *rest.Call, e Experiment, _ *v1.None) (*v1.GetExperimentResponse, error) {
	w, err := d.Full(ctx, e, c.Who())
	if err != nil {
		return nil, err
	}
	resp := &v1.GetExperimentResponse{Experiment: w, Config: w.Config}
	if !e.Terminal() && !e.Unmanaged {
		if resp.JobSummary, err = queue.Summary(ctx, d.DB, d.Pools, e.JobID); err != nil {
			return nil, err
		}
	}
	if resp.Remarks, err = d.remarks(ctx, e); err != nil {
		return nil, err
	}
	if resp.Outlook, err = OutlookOf(e); err != nil {
		return nil, err
	}
	if err := withTrials(ctx, d.DB, e, &resp.Outlook); err != nil {
		return nil, err
	}
	branches, err := BranchesOf(ctx, d.DB, auth.ScopeOf(c.Who(), auth.View, v1.KindExperiment), e.ID)
	if err != nil {
		return nil, err
	}
	resp.Branches = each.Of(branches, func(b Branch) v1.ExperimentBranch { return v1.ExperimentBranch(b) })
	avoided, err := nodes.Avoided(ctx, d.DB, e.ID)
	resp.AvoidedNodes = each.Of(avoided, func(n nodes.FailureCount) v1.AvoidedNode {
		return v1.AvoidedNode{Node: n.NodeName, Failures: n.Failures}
	})
	return resp, err
}

// Full adds the fields that lists omit.
func (d Deps) Full(ctx context.Context, e Experiment, who auth.Who) (v1.Experiment, error) {
	w := d.withConfig(wireExperiment(e), e, who)
	var parts struct {
		Hyperparameters json.RawMessage `json:"hyperparameters"`
	}
	if err := w.Config.Into(&parts); err == nil {
		w.Hyperparameters = v1.Struct(parts.Hyperparameters)
	}
	freed, err := checkpoints.RemovedOf(ctx, d.DB, e.ID)
	if err != nil {
		return w, err
	}
	w.Freed = &v1.FreedTotal{Checkpoints: freed.Checkpoints, Files: freed.Files, Bytes: freed.Bytes}
	w.TrialIDs, err = TrialIDs(ctx, d.DB, e.ID)
	return w, err
}

// experimentFilter translates a list's parameters. Inclusive bounds become exclusive ones.
func experimentFilter(req *v1.GetExperimentsRequest) (Filter, error) {
	if err := CheckPatterns(req.Name, req.Description); err != nil {
		return Filter{}, err
	}
	f := Filter{Labels: req.Labels, Users: req.Users, Name: req.Name, Description: req.Description, Archived: req.Archived,
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

// experimentStates converts the API's names of states into those of rows.
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

// pageSize is the number of experiments in a list without a limit. It is low
// because each experiment contains its configuration.
const pageSize = 100

// window applies the rules for lists of experiments: without a limit there are a
// hundred, and an offset outside the list moves to its nearest end.
func window(w v1.Window, total int) v1.Pagination {
	w.Limit = cmp.Or(w.Limit, pageSize)
	if w.Offset < 0 {
		w.Offset += total
	}
	w.Offset = min(max(w.Offset, 0), total)
	p, err := rest.Locate(w, total)
	if err != nil {
		panic("experiments: an offset within the list is out of its bounds: " + err.Error())
	}
	return p
}

func (d Deps) list(ctx context.Context, c *rest.Call, req *v1.GetExperimentsRequest) (*v1.GetExperimentsResponse, error) {
	f, err := experimentFilter(req)
	if err != nil {
		return nil, err
	}
	total, err := Count(ctx, d.DB, c.Scope(), f)
	if err != nil {
		return nil, err
	}
	resp := &v1.GetExperimentsResponse{Pagination: window(req.Window, total)}
	n := resp.Pagination.EndIndex - resp.Pagination.StartIndex
	if n == 0 {
		return resp, nil
	}
	list, err := List(ctx, d.DB, c.Scope(), f, resp.Pagination.StartIndex, n)
	if err != nil {
		return nil, err
	}
	resp.Pagination.EndIndex = resp.Pagination.StartIndex + len(list)
	resp.Experiments = make([]v1.Experiment, len(list))
	for i, e := range list {
		if resp.Experiments[i] = wireExperiment(e); !req.WithoutConfig { // most of a list's weight
			resp.Experiments[i] = d.withConfig(resp.Experiments[i], e, c.Who())
		}
	}
	return resp, nil
}

func (d Deps) labels(ctx context.Context, c *rest.Call, req *v1.GetExperimentLabelsRequest) (*v1.LabelsResponse, error) {
	labels, err := LabelsUsed(ctx, d.DB, c.Scope(), req.ProjectID)
	return &v1.LabelsResponse{Labels: labels}, err
}

// remarks are remarks about an experiment for users that are not errors.
func (d Deps) remarks(ctx context.Context, e Experiment) ([]string, error) {
	if e.Unmanaged || e.BestMetric != nil || optional.Value(e.Metric) == "" {
		return nil, nil
	}
	names, err := metrics.ValidationNames(ctx, d.DB, e.ID)
	if err != nil || len(names) == 0 && e.State != "COMPLETED" {
		return nil, err
	}
	if s := metrics.MissingMetric(*e.Metric, names); s != "" {
		return []string{s}, nil
	}
	return nil, nil
}
