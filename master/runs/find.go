package runs

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/find"
	"github.com/detent-ml/detent/master/find/query"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

func (d Deps) search(ctx context.Context, c *rest.Call, req *v1.SearchRunsRequest) (*v1.SearchRunsResponse, error) {
	q, err := query.Parse(find.Runs, req.ProjectID, req.Filter, req.Query, req.Sort, time.Now())
	if err != nil {
		return nil, err
	}
	list, page, err := experiments.PageOf(ctx, c.Scope(), q, v1.Window{Offset: optional.Value(req.Offset), Limit: optional.Value(req.Limit)}, d.DB, Count, Search)
	if err != nil {
		return nil, err
	}
	resp := &v1.SearchRunsResponse{Pagination: page}
	resp.Runs, err = d.wireRuns(ctx, list)
	return resp, err
}

// wireRuns adds the summaries of metrics and checkpoints to runs.
func (d Deps) wireRuns(ctx context.Context, list []Run) ([]v1.FlatRun, error) {
	ids := each.Of(list, func(r Run) int { return r.ID })
	sums, err := metrics.Summaries(ctx, d.DB, ids)
	if err != nil {
		return nil, err
	}
	totals, err := checkpoints.Totals(ctx, d.DB, ids)
	if err != nil {
		return nil, err
	}
	out := make([]v1.FlatRun, len(list))
	for i, r := range list {
		w := wireRun(r)
		s := sums[r.ID]
		w.SearcherMetricValue = s.BestMetric
		if len(s.Metrics) > 0 {
			w.SummaryMetrics = v1.StructOf(s.Metrics)
		}
		w.CheckpointCount, w.CheckpointSize = totals[r.ID].Count, totals[r.ID].Size
		out[i] = w
	}
	return out, nil
}

// wireRun is a run in the form of Determined's. Its state is ACTIVE for as long as it
// waits or runs, and its local id has the number that names it everywhere.
func wireRun(r Run) v1.FlatRun {
	state := r.Shown
	switch state {
	case "QUEUED", "PULLING", "STARTING", "RUNNING":
		state = "ACTIVE"
	}
	return v1.FlatRun{ID: r.ID, StartTime: r.StartedAt, EndTime: r.EndedAt, State: v1.TrialState("STATE_" + state), Labels: r.Labels,
		ExternalRunID: r.ExternalID, Hyperparameters: r.HParams, UserID: r.OwnerID, Duration: r.Seconds,
		ProjectID: r.ProjectID, ProjectName: r.ProjectName, WorkspaceID: r.WorkspaceID, WorkspaceName: r.WorkspaceName,
		ParentArchived: r.ParentArchived, Archived: r.Archived, LocalID: r.LocalID,
		Metadata: r.Metadata, LogPolicyMatched: r.LogPolicy,
		Experiment: &v1.FlatRunExperiment{ID: r.ExperimentID, SearcherType: optional.Value(r.Searcher), SearcherMetric: optional.Value(r.Metric),
			ForkedFrom: r.ParentID, ExternalExperimentID: r.ExternalParent, ResourcePool: r.Pool, Progress: optional.Value(r.Progress),
			Description: r.Description, Name: r.Name, Unmanaged: r.Unmanaged, IsMultitrial: r.MultiTrial}}
}

// runColumns are the columns by which a project's runs can be searched.
func (d Deps) runColumns(ctx context.Context, in auth.Scope, project int) (*v1.GetProjectColumnsResponse, error) {
	resp := &v1.GetProjectColumnsResponse{Columns: fieldColumns(find.Runs, find.Run)}
	metrics, err := MetricsUsed(ctx, d.DB, in, project)
	if err != nil {
		return nil, err
	}
	for _, m := range metrics {
		resp.Columns = append(resp.Columns, metricColumns(m)...)
	}
	for _, used := range []struct {
		prefix   string
		location find.Location
		list     func(context.Context, *database.DB, auth.Scope, int) ([]NamedValue, error)
	}{{"hp.", find.RunHyperparameters, HParamsUsed}, {"metadata.", find.RunMetadata, MetadataUsed}} {
		list, err := used.list(ctx, d.DB, in, project)
		if err != nil {
			return nil, err
		}
		for _, v := range list {
			resp.Columns = append(resp.Columns, v1.ProjectColumn{Column: used.prefix + v.Name, Location: string(used.location), Type: columnType(v.Type)})
		}
	}
	return resp, nil
}

// columnType is the type of a column whose values have a type of JSON.
func columnType(json string) string {
	switch json {
	case "number":
		return string(find.Number)
	case "string", "boolean":
		return string(find.Text)
	case "array":
		return "COLUMN_TYPE_ARRAY"
	}
	return string(find.Any)
}

func (d Deps) metadataValues(ctx context.Context, c *rest.Call, p workspaces.Project, _ *v1.None) (*v1.GetMetadataValuesResponse, error) {
	key, err := url.PathUnescape(c.Param("*"))
	if err != nil || key == "" || strings.ContainsRune(key, 0) {
		return nil, fault.New(fault.Invalid, "the path must end with a key of the runs' metadata, without NUL characters")
	}
	values, err := MetadataValues(ctx, d.DB, c.Scope(), p.ID, key)
	return &v1.GetMetadataValuesResponse{Values: values}, err
}
