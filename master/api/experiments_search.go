package api

import (
	"context"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/find"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerSearch() {
	serve(a, v1.SearchExperiments, a.searchExperiments)
	serveOn(a, v1.ListProjectColumns, a.onProjectOrAll(), a.projectColumns)
	serveOn(a, v1.ListMetricRanges, a.onProjectOrAll(), a.metricRanges)
}

// asked reads what a request asks for.
func asked(req *v1.SearchExperimentsRequest, now time.Time) (store.Search, error) {
	q := store.Search{}
	if req.ProjectID != nil {
		q.ProjectID = *req.ProjectID
	}
	filter := find.Filter{}
	var err error
	if given := optional.Value(req.Filter); given != "" {
		if filter, err = find.ParseJSON([]byte(given)); err != nil {
			return q, fault.New(fault.Invalid, "filter: %w", err)
		}
	}
	line, err := find.Parse(optional.Value(req.Query), now)
	if err != nil {
		return q, fault.New(fault.Invalid, "query: %w", err)
	}
	q.Filter = filter.And(line)
	if q.Sort, err = find.ParseSort(optional.Value(req.Sort)); err != nil {
		return q, fault.New(fault.Invalid, "sort: %w", err)
	}
	return q, nil
}

func (a *API) searchExperiments(ctx context.Context, c *call, req *v1.SearchExperimentsRequest) (*v1.SearchExperimentsResponse, error) {
	q, err := asked(req, time.Now())
	if err != nil {
		return nil, err
	}
	w := window{}
	if req.Offset != nil {
		w.offset = *req.Offset
	}
	if req.Limit != nil {
		w.limit = *req.Limit
	}
	list, page, err := a.searchPage(ctx, c.scope, q, w)
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
		if found.Experiment = wireExperiment(e, c.who); req.WithoutConfig != nil && *req.WithoutConfig {
			found.Experiment.Config, found.Experiment.OriginalConfig = nil, ""
		}
		if e.BestTrialID != nil {
			found.BestTrial = best[*e.BestTrialID]
		}
	}
	return resp, nil
}

// searchPage finds a part of a list. What counts from the end, or has none, needs
// to know first how many there are.
func (a *API) searchPage(ctx context.Context, in auth.Scope, q store.Search, w window) ([]store.Experiment, v1.Pagination, error) {
	offset, limit := w.offset, w.limit
	if limit == 0 {
		limit = experimentPage
	}
	if offset < 0 || limit < 0 {
		total, err := a.db.CountSearched(ctx, in, q)
		if err != nil {
			return nil, v1.Pagination{}, err
		}
		page := experimentWindow(w, total)
		if offset, limit = page.StartIndex, page.EndIndex-page.StartIndex; limit == 0 {
			return nil, page, nil
		}
	}
	list, total, err := a.db.SearchExperiments(ctx, in, q, offset, limit)
	return list, experimentWindow(w, total), err
}

// bestTrials reads the best trials of experiments, by their ids.
func (a *API) bestTrials(ctx context.Context, list []store.Experiment) (map[int]*v1.Trial, error) {
	var ids []int
	for _, e := range list {
		if e.BestTrialID != nil {
			ids = append(ids, *e.BestTrialID)
		}
	}
	trials, err := a.db.TrialsByID(ctx, ids)
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

func (a *API) projectColumns(ctx context.Context, c *call, p store.Project, _ *v1.None) (*v1.GetProjectColumnsResponse, error) {
	id := p.ID
	if table, _ := c.query("tableType"); table == "TABLE_TYPE_RUN" {
		return nil, fault.New(fault.Unimplemented, "tableType: runs cannot be searched; use TABLE_TYPE_EXPERIMENT for the columns of experiments")
	}
	resp := &v1.GetProjectColumnsResponse{}
	for _, f := range find.Fields() {
		resp.Columns = append(resp.Columns, v1.ProjectColumn{Column: f.Name, Location: string(find.Experiment), Type: string(f.Type), DisplayName: f.Title})
	}
	hparams, err := a.db.HParamsUsed(ctx, c.scope, id)
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
	metrics, err := a.db.MetricsUsed(ctx, c.scope, id)
	if err != nil {
		return nil, err
	}
	for _, m := range metrics {
		resp.Columns = append(resp.Columns, metricColumns(m)...)
	}
	return resp, nil
}

// metricColumns are the columns of one metric: one that is no number has a last
// value only.
func metricColumns(m store.NamedMetric) []v1.ProjectColumn {
	group, kind, summaries := store.GroupOf(m.Group), find.Any, []string{find.Last}
	switch m.Type {
	case "number":
		kind, summaries = find.Number, []string{find.Last, find.Max, find.Mean, find.Min}
	case "string":
		kind = find.Text
	}
	var out []v1.ProjectColumn
	for _, s := range summaries {
		name := group + "." + m.Name + "." + s
		column, ok := find.ColumnOf(name)
		if !ok { // a metric without a name cannot be asked about
			continue
		}
		out = append(out, v1.ProjectColumn{Column: name, Location: string(column.Location), Type: string(kind)})
	}
	return slices.Clip(out)
}

func (a *API) metricRanges(ctx context.Context, c *call, p store.Project, _ *v1.None) (*v1.GetProjectNumericMetricsRangeResponse, error) {
	list, err := a.db.MetricRanges(ctx, c.scope, p.ID)
	if err != nil {
		return nil, err
	}
	resp := &v1.GetProjectNumericMetricsRangeResponse{Ranges: make([]v1.MetricsRange, 0, len(list))}
	for _, r := range list {
		name := "searcherMetricsVal"
		if r.Name != "" {
			name = store.GroupOf(r.Group) + "." + r.Name + "." + r.Summary
		}
		resp.Ranges = append(resp.Ranges, v1.MetricsRange{MetricsName: name, Min: r.Min, Max: r.Max})
	}
	return resp, nil
}
