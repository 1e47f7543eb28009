package metrics

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics/report"
	"github.com/detent-ml/detent/master/metrics/series"
	"github.com/detent-ml/detent/master/metrics/summary"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Limits of one request for curves.
const (
	maxPoints = 2000 // of a series; screens show fewer
	maxTrials = 100
	maxNames  = 50
	// maxPointBytes limits the points of an answer: each of them repeats the names of its metrics, which programs choose.
	maxPointBytes = 32 << 20
)

// timeSeries returns curves of several trials, downsampled without changing their shape: the
// smallest and the largest value of each bucket.
func (d Deps) timeSeries(ctx context.Context, c *rest.Call, req *v1.GetTimeSeriesRequest) (*v1.CompareTrialsResponse, error) {
	ids := rest.Distinct(req.TrialIDs)
	groups, err := seriesGroups(req)
	if err != nil {
		return nil, err
	}
	q := CurveQuery{From: req.StartBatches, MaxPoints: optional.Value(req.MaxDatapoints)}
	if req.EndBatches > 0 {
		q.To = &req.EndBatches
	}
	if err := narrow(req.TimeSeriesFilter, &q); err != nil {
		return nil, err
	}
	if q.MaxPoints <= 0 || q.MaxPoints > maxPoints {
		q.MaxPoints = maxPoints
	}
	if len(ids) > maxTrials {
		return nil, fault.New(fault.Invalid, "trialIds: %d trials; %d are allowed", len(ids), maxTrials)
	}
	trials, err := d.Trials(ctx, c, ids)
	if err != nil {
		return nil, err
	}
	resp := &v1.CompareTrialsResponse{}
	left := maxPointBytes
	for i, id := range ids {
		one := v1.ComparableTrial{Trial: trials[i]}
		q.TrialID = id
		if one.Metrics, err = d.curves(ctx, q, groups, &left); err != nil {
			return nil, err
		}
		resp.Trials = append(resp.Trials, one)
	}
	return resp, nil
}

// curves reads the curves of a trial: those of groups, or all if there are none. It takes their size from what is
// left for the answer.
func (d Deps) curves(ctx context.Context, q CurveQuery, groups []seriesGroup, left *int) (list []v1.DownsampledMetrics, err error) {
	if len(groups) == 0 {
		if groups, err = d.allSeries(ctx, q.TrialID); err != nil {
			return nil, err
		}
	}
	for _, g := range groups {
		q.Group, q.Names = g.name, g.metrics
		points, err := Curve(ctx, d.DB, q)
		if err != nil {
			return nil, err
		}
		if *left -= pointBytes(points, g.metrics); *left < 0 {
			return nil, fault.New(fault.TooLarge, "the curves of the trials have more than %s; ask for fewer trials, metrics (metricNames) or points (maxDatapoints) at once", rest.SizeText(maxPointBytes))
		}
		list = append(list, v1.DownsampledMetrics{Group: g.name, Type: g.kind(), Data: wirePoints(points, g.metrics)})
	}
	return list, nil
}

// pointBytes is about how many bytes points have in an answer.
func pointBytes(points []series.Point, names []string) int {
	const aPoint, aValue = 80, 24 // bytes, without the names
	size := 0
	for _, p := range points {
		size += aPoint
		for i, name := range names {
			if !p.Lacks(i) {
				size += aValue + len(name)
			}
		}
	}
	return size
}

// seriesGroup is a group of metrics with the requested names.
type seriesGroup struct {
	name    string
	metrics []string
}

func (g seriesGroup) kind() v1.MetricType {
	switch g.name {
	case report.Training:
		return v1.MetricTypeTraining
	case report.Validation:
		return v1.MetricTypeValidation
	}
	return v1.MetricTypeUnspecified
}

// seriesGroups groups the requested metrics: names as metricIds (group.name), or names with a
// group, or names in both groups that every trial has.
func seriesGroups(req *v1.GetTimeSeriesRequest) ([]seriesGroup, error) {
	var order []seriesGroup
	add := func(group, name string) {
		for i := range order {
			if order[i].name == group {
				if !slices.Contains(order[i].metrics, name) {
					order[i].metrics = append(order[i].metrics, name)
				}
				return
			}
		}
		order = append(order, seriesGroup{group, []string{name}})
	}
	for _, id := range req.MetricIDs {
		group, name, ok := strings.Cut(id, ".")
		if !ok || group == "" || name == "" {
			return nil, fault.New(fault.Invalid, "metricIds: %q; expected group.name, such as validation.loss", fault.Clip(id))
		}
		add(group, name)
	}
	in := []string{report.Training, report.Validation}
	switch {
	case req.Group != "":
		in = []string{req.Group}
	case req.MetricType == v1.MetricTypeTraining:
		in = in[:1]
	case req.MetricType == v1.MetricTypeValidation:
		in = in[1:]
	}
	for _, group := range in {
		for _, name := range req.MetricNames {
			add(group, name)
		}
	}
	total := 0
	for _, g := range order {
		total += len(g.metrics)
	}
	if total > maxNames {
		return nil, fault.New(fault.Invalid, "metricIds: %d metrics; %d are allowed", total, maxNames)
	}
	return order, nil
}

// allSeries is all numeric metrics of a trial, for a request that names none.
func (d Deps) allSeries(ctx context.Context, trial int) ([]seriesGroup, error) {
	sums, err := Summaries(ctx, d.DB, []int{trial})
	if err != nil {
		return nil, err
	}
	var list []seriesGroup
	total := 0
	for _, group := range slices.Sorted(maps.Keys(sums[trial].Metrics)) {
		g := seriesGroup{name: summary.GroupOf(group)}
		for _, name := range slices.Sorted(maps.Keys(sums[trial].Metrics[group])) {
			if sums[trial].Metrics[group][name].Type == "number" && total < maxNames {
				g.metrics = append(g.metrics, name)
				total++
			}
		}
		if len(g.metrics) > 0 {
			list = append(list, g)
		}
	}
	return list, nil
}

// narrow applies the filter by steps of newer clients, in addition to startBatches and endBatches. Other
// fields are not supported.
func narrow(filter v1.TimeSeriesFilter, q *CurveQuery) error {
	if filter.FilterName == "" {
		return nil
	}
	if filter.FilterName != "batches" {
		return fault.New(fault.Invalid, "timeSeriesFilter.name: cannot filter by %q; expected batches", fault.Clip(filter.FilterName))
	}
	from := func(step float64) { q.From = max(q.From, int(step)) }
	to := func(step float64) {
		if q.To == nil || int(step) < *q.To {
			q.To = new(int(step))
		}
	}
	for name, bound := range map[string]struct {
		integer, double *float64
		set             func(float64)
	}{
		"gt":  {filter.IntegerGT, filter.DoubleGT, func(f float64) { from(math.Floor(f) + 1) }},
		"gte": {filter.IntegerGTE, filter.DoubleGTE, func(f float64) { from(math.Ceil(f)) }},
		"lt":  {filter.IntegerLT, filter.DoubleLT, func(f float64) { to(math.Ceil(f) - 1) }},
		"lte": {filter.IntegerLTE, filter.DoubleLTE, func(f float64) { to(math.Floor(f)) }},
	} {
		for kind, f := range map[string]*float64{"integerRange": bound.integer, "doubleRange": bound.double} {
			switch {
			case f == nil:
			case !(math.Abs(*f) <= math.MaxInt32): // also for NaN
				return fault.New(fault.Invalid, "timeSeriesFilter.%s.%s: %v is not a number of steps", kind, name, *f)
			default:
				bound.set(*f)
			}
		}
	}
	return nil
}

func wirePoints(points []series.Point, names []string) []v1.DataPoint {
	out := make([]v1.DataPoint, len(points))
	for i, p := range points {
		values := make(map[string]any, len(names))
		for j, name := range names {
			switch v := p.Values[j]; {
			case p.Lacks(j):
			case math.IsNaN(v):
				values[name] = "NaN"
			case math.IsInf(v, 1):
				values[name] = "Infinity"
			case math.IsInf(v, -1):
				values[name] = "-Infinity"
			default:
				values[name] = v
			}
		}
		out[i] = v1.DataPoint{Batches: p.Steps, Time: p.At, Values: v1.StructOf(values)}
	}
	return out
}
