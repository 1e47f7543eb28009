package api

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/sleep"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

// The reports that a trial's nodes make about themselves are metrics of five groups. These
// endpoints show them in the form of Determined's older pages.

// profilerPeriod is how often a follower looks for new reports: a node makes one every 10 s.
const profilerPeriod = 5 * time.Second

func (a *API) registerProfiler() {
	rawOn(a, v1.StreamProfilerSeries, a.onTrial(), a.profilerSeries)
	rawOn(a, v1.StreamProfilerMetrics, a.onTrial(), a.profilerMetrics)
}

// reportProfilerMetrics rejects the form in which harnesses before 0.30 report.
func (a *API) reportProfilerMetrics(context.Context, *call, *v1.None) (*v1.None, error) {
	return nil, fault.New(fault.Unimplemented, "report what a node measures as metrics: POST /api/v1/trials/<id>/metrics, with the group %s",
		strings.Join(store.ProfilerGroups(), ", "))
}

// sendWhile streams what send finds; with follow, again and again until the trial has ended.
func (a *API) sendWhile(c *call, trial int, send func(ctx context.Context, out *records) error) error {
	follow, err := c.flag("follow")
	if err != nil {
		return err
	}
	return a.stream(c, func(ctx context.Context, out *records) error {
		for {
			t, err := a.db.Trial(ctx, trial)
			over := t.EndedAt != nil || !optional.Value(follow)
			if err == nil {
				err = send(ctx, out)
			}
			if err != nil && (over || !fault.Is(err, fault.Unavailable)) {
				return err
			}
			if gone := out.flush(); gone != nil || err == nil && over {
				return gone
			}
			if err := sleep.For(ctx, profilerPeriod); err != nil {
				return err
			}
		}
	})
}

func wireSeries(trial int, s store.ProfilerSeries) v1.TrialProfilerMetricLabels {
	return v1.TrialProfilerMetricLabels{TrialID: trial, Name: s.Name, AgentID: s.Agent, GpuUUID: s.Part, MetricType: v1.ProfilerMetricTypeSystem}
}

// profilerSeries streams the list of a trial's series, again whenever it changes.
func (a *API) profilerSeries(_ context.Context, c *call, t store.Trial) error {
	var before []store.ProfilerSeries
	first := true
	return a.sendWhile(c, t.ID, func(ctx context.Context, out *records) error {
		list, err := a.db.ProfilerSeriesOf(ctx, t.ID)
		if err != nil || !first && slices.Equal(list, before) {
			return err
		}
		first, before = false, list
		resp := v1.GetTrialProfilerAvailableSeriesResponse{}
		for _, s := range list {
			resp.Labels = append(resp.Labels, wireSeries(t.ID, s))
		}
		return out.add(resp)
	})
}

// profilerMetrics streams the points of the series that the query's labels choose.
func (a *API) profilerMetrics(_ context.Context, c *call, t store.Trial) error {
	labels := map[string]string{}
	for _, name := range []string{"name", "agentId", "gpuUuid", "metricType"} {
		labels[name], _ = c.query("labels." + name)
	}
	if labels["name"] == "" {
		return fault.New(fault.Invalid, "labels.name: name a series, such as cpu_util_simple")
	}
	kind := v1.ProfilerMetricType(labels["metricType"])
	ours := kind == "" || kind == v1.ProfilerMetricTypeUnspecified || kind == v1.ProfilerMetricTypeSystem // all series are of the system
	wanted := func(s store.ProfilerSeries) bool {
		return ours && s.Name == labels["name"] && (labels["agentId"] == "" || s.Agent == labels["agentId"]) && (labels["gpuUuid"] == "" || s.Part == labels["gpuUuid"])
	}
	after := map[string]store.MetricKey{}
	for _, group := range store.ProfilerGroups() {
		after[group] = store.FirstMetric()
	}
	return a.sendWhile(c, t.ID, func(ctx context.Context, out *records) error {
		for _, group := range store.ProfilerGroups() {
			next, err := a.db.MetricsAfter(ctx, t.ID, group, after[group], func(page []store.MetricRow) error {
				return sendBatches(out, t.ID, page, wanted)
			})
			if after[group] = next; err != nil {
				return err
			}
		}
		return nil
	})
}

// sendBatches adds a record for each wanted series of a page.
func sendBatches(out *records, trial int, page []store.MetricRow, wanted func(store.ProfilerSeries) bool) error {
	found := map[store.ProfilerSeries]*v1.TrialProfilerMetricsBatch{}
	for _, m := range page {
		for s, v := range m.Values() {
			if !wanted(s) || math.IsNaN(v) || math.IsInf(v, 0) {
				continue
			}
			b := found[s]
			if b == nil {
				b = &v1.TrialProfilerMetricsBatch{Labels: wireSeries(trial, s)}
				found[s] = b
			}
			b.Values, b.Batches, b.Timestamps = append(b.Values, v), append(b.Batches, optional.Value(m.Steps)), append(b.Timestamps, m.ReportedAt)
		}
	}
	order := slices.SortedFunc(maps.Keys(found), func(x, y store.ProfilerSeries) int {
		return strings.Compare(x.Agent+"\x00"+x.Part, y.Agent+"\x00"+y.Part)
	})
	for _, s := range order {
		if err := out.add(v1.GetTrialProfilerMetricsResponse{Batch: *found[s]}); err != nil {
			return err
		}
	}
	return out.flush()
}
