package api

import (
	"context"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Limits of one request for curves.
const (
	maxPoints = 2000 // of a series; screens show fewer
	maxTrials = 100
	maxNames  = 50
)

// timeSeries returns curves of several trials, downsampled without changing their shape: the
// smallest and the largest value of each bucket.
func (a *API) timeSeries(ctx context.Context, c *call, _ *v1.None) (*v1.CompareTrialsResponse, error) {
	ids, err := c.numbers("trialIds")
	if err != nil {
		return nil, err
	}
	groups, err := a.seriesGroups(c)
	if err != nil {
		return nil, err
	}
	q := store.SeriesQuery{}
	if q.From, err = c.intOr("startBatches", 0); err != nil {
		return nil, err
	}
	if q.To, err = c.intOr("endBatches", 0); err != nil {
		return nil, err
	}
	if q.MaxPoints, err = c.intOr("maxDatapoints", maxPoints); err != nil {
		return nil, err
	}
	if err := narrow(c, &q); err != nil {
		return nil, err
	}
	if q.MaxPoints <= 0 || q.MaxPoints > maxPoints {
		q.MaxPoints = maxPoints
	}
	if len(ids) > maxTrials {
		return nil, fault.New(fault.Invalid, "trialIds: %d trials; %d are allowed", len(ids), maxTrials)
	}
	resp := &v1.CompareTrialsResponse{}
	for _, id := range ids {
		t, err := a.visibleTrial(ctx, c, id)
		if err != nil {
			return nil, err
		}
		trials, err := a.wireTrials(ctx, []store.Trial{t})
		if err != nil {
			return nil, err
		}
		one := v1.ComparableTrial{Trial: trials[0]}
		wanted := groups
		if len(wanted) == 0 {
			if wanted, err = a.allSeries(ctx, id); err != nil {
				return nil, err
			}
		}
		for _, g := range wanted {
			q.TrialID, q.Group, q.Names = id, g.name, g.metrics
			points, err := a.db.Series(ctx, q)
			if err != nil {
				return nil, err
			}
			one.Metrics = append(one.Metrics, v1.DownsampledMetrics{Group: g.name, Type: g.kind(), Data: wirePoints(points, g.metrics)})
		}
		resp.Trials = append(resp.Trials, one)
	}
	return resp, nil
}

// seriesGroup is a group of metrics with the requested names.
type seriesGroup struct {
	name    string
	metrics []string
}

func (g seriesGroup) kind() v1.MetricType {
	switch g.name {
	case store.Training:
		return v1.MetricTypeTraining
	case store.Validation:
		return v1.MetricTypeValidation
	}
	return v1.MetricTypeUnspecified
}

// seriesGroups parses the requested metrics: names as metricIds (group.name), or names with a
// group, or names in both groups that every trial has.
func (a *API) seriesGroups(c *call) ([]seriesGroup, error) {
	var order []seriesGroup
	add := func(group, name string) {
		for i := range order {
			if order[i].name == group {
				order[i].metrics = append(order[i].metrics, name)
				return
			}
		}
		order = append(order, seriesGroup{group, []string{name}})
	}
	for _, id := range c.list("metricIds") {
		group, name, ok := strings.Cut(id, ".")
		if !ok || group == "" || name == "" {
			return nil, fault.New(fault.Invalid, "metricIds: %q; expected group.name, such as validation.loss", id)
		}
		add(group, name)
	}
	names := c.list("metricNames")
	in := []string{store.Training, store.Validation}
	if group, ok := c.query("group"); ok && group != "" {
		in = []string{group}
	} else if kind, _ := c.query("metricType"); kind == string(v1.MetricTypeTraining) {
		in = in[:1]
	} else if kind == string(v1.MetricTypeValidation) {
		in = in[1:]
	}
	for _, group := range in {
		for _, name := range names {
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
func (a *API) allSeries(ctx context.Context, trial int) ([]seriesGroup, error) {
	sums, err := a.db.TrialSummaries(ctx, []int{trial})
	if err != nil {
		return nil, err
	}
	var list []seriesGroup
	total := 0
	for _, group := range slices.Sorted(maps.Keys(sums[trial].Metrics)) {
		g := seriesGroup{name: store.GroupOf(group)}
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

// narrow applies the filter by steps of newer clients. Other fields are not supported.
func narrow(c *call, q *store.SeriesQuery) error {
	name, ok := c.query("timeSeriesFilter.name")
	if !ok {
		return nil
	}
	if name != "batches" {
		return fault.New(fault.Invalid, "timeSeriesFilter.name: cannot filter by %q; expected batches", name)
	}
	for bound, set := range map[string]func(n int){
		"gt": func(n int) { q.From = max(q.From, n+1) }, "gte": func(n int) { q.From = max(q.From, n) },
		"lt": func(n int) { q.To = n - 1 }, "lte": func(n int) { q.To = n },
	} {
		for _, kind := range []string{"integerRange", "doubleRange"} {
			s, ok := c.query("timeSeriesFilter." + kind + "." + bound)
			if !ok {
				continue
			}
			f, err := strconv.ParseFloat(s, 64)
			if err != nil || math.Abs(f) > math.MaxInt32 {
				return fault.New(fault.Invalid, "timeSeriesFilter.%s.%s: %q is not a number of steps", kind, bound, s)
			}
			set(int(f))
		}
	}
	return nil
}

func wirePoints(points []store.Point, names []string) []v1.DataPoint {
	out := make([]v1.DataPoint, len(points))
	for i, p := range points {
		values := make(map[string]any, len(names))
		for j, name := range names {
			switch v := p.Values[j]; {
			case math.IsNaN(v): // the report has no such value, or not a number
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
