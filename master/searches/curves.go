package searches

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/metrics/report"
	"github.com/detent-ml/detent/master/metrics/series"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Limits of one part of the trials of a search.
const (
	maxSearchTrials = 1000
	maxSearchPoints = 200 // of a curve; a page draws thousands of curves at once
)

// listTrials returns trials of a search by id, each with its curve. A part ends early where the
// trials have reported very much; the next part begins after its last trial.
func (d Deps) listTrials(ctx context.Context, c *rest.Call, e experiments.Head, req *v1.GetSearchTrialsRequest) (*v1.GetSearchTrialsResponse, error) {
	f := TrialFilter{Experiment: e.ID, After: req.After, ChangedSince: req.ChangedSince}
	if f.After < 0 {
		return nil, fault.New(fault.Invalid, "after: %d is not the id of a trial", f.After)
	}
	points, err := rest.Between("points", req.Points, maxSearchPoints, maxSearchPoints)
	if err != nil {
		return nil, err
	}
	if f.Limit, err = rest.Between("limit", req.Limit, maxSearchTrials, maxSearchTrials); err != nil {
		return nil, err
	}
	group, name := cmp.Or(req.Group, report.Validation), req.Metric
	if name == "" || len(name) > report.MaxName || len(group) > report.MaxName {
		return nil, fault.New(fault.Invalid, "metric: expected a name of 1 to %d bytes", report.MaxName)
	}
	resp := &v1.GetSearchTrialsResponse{Time: time.Now()}
	list, full, err := ListTrials(ctx, d.DB, f)
	if err != nil {
		return nil, err
	}
	ids := each.Of(list, func(t Trial) int { return t.ID })
	curves, whole, err := metrics.Curves(ctx, d.DB, ids, group, name)
	if err != nil {
		return nil, err
	}
	if len(list) > 0 && (whole < len(list) || full || len(list) == f.Limit) {
		resp.Next = list[whole-1].ID
	}
	resp.Trials = each.Of(list[:whole], func(t Trial) v1.SearchTrial { return wireSearchTrial(t, curves[t.ID], points) })
	return resp, nil
}

func wireSearchTrial(t Trial, curve []series.Point, points int) v1.SearchTrial {
	w := v1.SearchTrial{ID: t.ID, State: v1.TrialState("STATE_" + t.Shown), HParams: t.HParams, EndTime: t.EndedAt, Restarts: t.Restarts, Batches: t.Batches, Stopped: t.Stopped}
	for _, p := range curve {
		v := p.Values[0]
		w.Batches = max(w.Batches, p.Steps)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		if w.Last = &v; w.Min == nil || v < *w.Min {
			w.Min = &v
		}
		if w.Max == nil || v > *w.Max {
			w.Max = &v
		}
	}
	if points == 0 {
		return w
	}
	for _, p := range series.Downsample(curve, points) {
		w.Steps, w.Values = append(w.Steps, p.Steps), append(w.Values, p.Values[0])
	}
	return w
}
