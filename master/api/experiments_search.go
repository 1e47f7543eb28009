package api

import (
	"context"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/find"
	"github.com/detent-ml/detent/master/find/query"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/metrics/summary"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

func (a *API) registerSearch() {
	rest.Serve(a.router, v1.SearchExperiments, a.searchExperiments)
	rest.ServeOn(a.router, v1.ListProjectColumns, workspaces.OnProjectOrAll(a.db), a.projectColumns)
	rest.ServeOn(a.router, v1.ListMetadataValues, workspaces.OnProjectOrAll(a.db), a.metadataValues)
	rest.ServeOn(a.router, v1.ListMetricRanges, workspaces.OnProjectOrAll(a.db), a.metricRanges)
}

func (a *API) searchExperiments(ctx context.Context, c *rest.Call, req *v1.SearchExperimentsRequest) (*v1.SearchExperimentsResponse, error) {
	q, err := query.Parse(find.Experiments, req.ProjectID, req.Filter, req.Query, req.Sort, time.Now())
	if err != nil {
		return nil, err
	}
	list, page, err := searchPage(ctx, c.Scope(), q, v1.Window{Offset: optional.Value(req.Offset), Limit: optional.Value(req.Limit)}, a.db, experiments.CountSearched, experiments.Search)
	if err != nil {
		return nil, err
	}
	resp := &v1.SearchExperimentsResponse{Pagination: page}
	best, err := a.bestTrials(ctx, list)
	if err != nil {
		return nil, err
	}
	resp.Experiments = make([]v1.SearchExperimentExperiment, len(list))
	for i, e := range list {
		found := &resp.Experiments[i]
		if found.Experiment = wireExperiment(e); !optional.Value(req.WithoutConfig) {
			found.Experiment = a.withConfig(found.Experiment, e, c.Who())
		}
		if e.BestTrialID != nil {
			found.BestTrial = best[*e.BestTrialID]
		}
	}
	return resp, nil
}

// searchPage returns a part of a list. A negative offset or limit counts from the end, so the
// list is counted first.
func searchPage[T any](ctx context.Context, in auth.Scope, q query.Search, w v1.Window, db *database.DB,
	count func(context.Context, *database.DB, auth.Scope, query.Search) (int, error),
	find func(ctx context.Context, db *database.DB, in auth.Scope, q query.Search, offset, limit int) ([]T, int, error),
) ([]T, v1.Pagination, error) {
	offset, limit := w.Offset, w.Limit
	if limit == 0 {
		limit = experimentPage
	}
	if offset < 0 || limit < 0 {
		total, err := count(ctx, db, in, q)
		if err != nil {
			return nil, v1.Pagination{}, err
		}
		page := experimentWindow(w, total)
		if offset, limit = page.StartIndex, page.EndIndex-page.StartIndex; limit == 0 {
			return nil, page, nil
		}
	}
	list, total, err := find(ctx, db, in, q, offset, limit)
	page := experimentWindow(w, total)
	page.EndIndex = min(page.EndIndex, page.StartIndex+len(list)) // texts may fill a page
	return list, page, err
}

// bestTrials reads the best trials of experiments, by their ids.
func (a *API) bestTrials(ctx context.Context, list []experiments.Experiment) (map[int]*v1.Trial, error) {
	var ids []int
	for _, e := range list {
		if e.BestTrialID != nil {
			ids = append(ids, *e.BestTrialID)
		}
	}
	trials, err := experiments.TrialsByID(ctx, a.db, ids)
	if err != nil {
		return nil, err
	}
	wired, err := a.wireTrials(ctx, trials)
	if err != nil {
		return nil, err
	}
	found := make(map[int]*v1.Trial, len(wired))
	for i := range wired {
		found[wired[i].ID] = &wired[i]
	}
	return found, nil
}

func (a *API) projectColumns(ctx context.Context, c *rest.Call, p workspaces.Project, req *v1.GetProjectColumnsRequest) (*v1.GetProjectColumnsResponse, error) {
	switch req.TableType {
	case "TABLE_TYPE_RUN":
		return a.runColumns(ctx, c.Scope(), p.ID)
	case "", "TABLE_TYPE_UNSPECIFIED", "TABLE_TYPE_EXPERIMENT":
	default:
		return nil, fault.New(fault.Invalid, "tableType: expected TABLE_TYPE_EXPERIMENT or TABLE_TYPE_RUN, found %q", fault.Clip(req.TableType))
	}
	resp := &v1.GetProjectColumnsResponse{Columns: fieldColumns(find.Experiments, find.Experiment)}
	hparams, err := experiments.HParamsUsed(ctx, a.db, c.Scope(), p.ID)
	if err != nil {
		return nil, err
	}
	for _, h := range hparams {
		kind := find.Any
		if h.Numbers {
			kind = find.Number
		}
		resp.Columns = append(resp.Columns, v1.ProjectColumn{Column: "hp." + h.Name, Location: string(find.Hyperparameters), Type: string(kind)})
	}
	metrics, err := experiments.MetricsUsed(ctx, a.db, c.Scope(), p.ID)
	if err != nil {
		return nil, err
	}
	for _, m := range metrics {
		resp.Columns = append(resp.Columns, metricColumns(m)...)
	}
	return resp, nil
}

// fieldColumns are the columns that every row of a table has.
func fieldColumns(table find.Table, location find.Location) (out []v1.ProjectColumn) {
	for _, f := range table.Fields() {
		kind := f.Type
		if f.Flag {
			kind = find.Any
		}
		out = append(out, v1.ProjectColumn{Column: f.Name, Location: string(location), Type: string(kind), DisplayName: f.Title})
	}
	return out
}

// metricColumns are the columns of one metric: one that is no number has a last
// value only.
func metricColumns(m metrics.Named) []v1.ProjectColumn {
	group, kind, summaries := summary.GroupOf(m.Group), find.Any, []string{find.Last}
	switch m.Type {
	case "number":
		kind, summaries = find.Number, []string{find.Last, find.Max, find.Mean, find.Min}
	case "string":
		kind = find.Text
	}
	var out []v1.ProjectColumn
	for _, s := range summaries {
		name := group + "." + m.Name + "." + s
		column, ok := find.Experiments.ColumnOf(name)
		if !ok { // a query cannot name a metric without a name
			continue
		}
		out = append(out, v1.ProjectColumn{Column: name, Location: string(column.Location), Type: string(kind)})
	}
	return slices.Clip(out)
}

func (a *API) metricRanges(ctx context.Context, c *rest.Call, p workspaces.Project, _ *v1.None) (*v1.GetProjectNumericMetricsRangeResponse, error) {
	list, err := experiments.MetricRanges(ctx, a.db, c.Scope(), p.ID)
	if err != nil {
		return nil, err
	}
	resp := &v1.GetProjectNumericMetricsRangeResponse{Ranges: make([]v1.MetricsRange, 0, len(list))}
	for _, r := range list {
		name := "searcherMetricsVal"
		if r.Name != "" {
			name = summary.GroupOf(r.Group) + "." + r.Name + "." + r.Summary
		}
		resp.Ranges = append(resp.Ranges, v1.MetricsRange{MetricsName: name, Min: r.Min, Max: r.Max})
	}
	return resp, nil
}
