package experiments

import (
	"cmp"
	"context"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/find"
	"github.com/detent-ml/detent/master/find/query"
	"github.com/detent-ml/detent/master/metrics/summary"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

func (d Deps) search(ctx context.Context, c *rest.Call, req *v1.SearchExperimentsRequest) (*v1.SearchExperimentsResponse, error) {
	q, err := query.Parse(find.Experiments, req.ProjectID, req.Filter, req.Query, req.Sort, time.Now())
	if err != nil {
		return nil, err
	}
	list, page, err := PageOf(ctx, c.Scope(), q, v1.Window{Offset: optional.Value(req.Offset), Limit: optional.Value(req.Limit)}, d.DB, CountSearched, Search)
	if err != nil {
		return nil, err
	}
	resp := &v1.SearchExperimentsResponse{Pagination: page}
	best, err := d.bestTrials(ctx, c.Who(), list)
	if err != nil {
		return nil, err
	}
	resp.Experiments = make([]v1.SearchExperimentExperiment, len(list))
	for i, e := range list {
		found := &resp.Experiments[i]
		if found.Experiment = wireExperiment(e); !optional.Value(req.WithoutConfig) {
			found.Experiment = d.withConfig(found.Experiment, e, c.Who())
		}
		if e.BestTrialID != nil {
			found.BestTrial = best[*e.BestTrialID]
		}
	}
	return resp, nil
}

// PageOf returns a part of a list. A negative offset or limit counts from the end, so the
// list is counted first.
func PageOf[T any](ctx context.Context, in auth.Scope, q query.Search, w v1.Window, db *database.DB,
	count func(context.Context, *database.DB, auth.Scope, query.Search) (int, error),
	find func(ctx context.Context, db *database.DB, in auth.Scope, q query.Search, offset, limit int) ([]T, int, error),
) ([]T, v1.Pagination, error) {
	offset, limit := w.Offset, cmp.Or(w.Limit, pageSize)
	if offset < 0 || limit < 0 {
		total, err := count(ctx, db, in, q)
		if err != nil {
			return nil, v1.Pagination{}, err
		}
		page := window(w, total)
		if offset, limit = page.StartIndex, page.EndIndex-page.StartIndex; limit == 0 {
			return nil, page, nil
		}
	}
	list, total, err := find(ctx, db, in, q, offset, limit)
	page := window(w, total)
	page.EndIndex = min(page.EndIndex, page.StartIndex+len(list)) // texts may fill a page
	return list, page, err
}

// bestTrials reads the best trials of experiments, by their ids.
func (d Deps) bestTrials(ctx context.Context, who auth.Who, list []Experiment) (map[int]*v1.Trial, error) {
	var ids []int
	for _, e := range list {
		if e.BestTrialID != nil {
			ids = append(ids, *e.BestTrialID)
		}
	}
	trials, err := TrialsByID(ctx, d.DB, ids)
	if err != nil {
		return nil, err
	}
	wired, err := d.wireTrials(ctx, who, trials)
	if err != nil {
		return nil, err
	}
	found := make(map[int]*v1.Trial, len(wired))
	for i := range wired {
		found[wired[i].ID] = &wired[i]
	}
	return found, nil
}

func (d Deps) metricRanges(ctx context.Context, c *rest.Call, p workspaces.Project, _ *v1.None) (*v1.GetProjectNumericMetricsRangeResponse, error) {
	list, err := MetricRanges(ctx, d.DB, c.Scope(), p.ID)
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
