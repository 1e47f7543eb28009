package metrics

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics/report"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/sleep"
	v1 "github.com/detent-ml/detent/master/v1"
)

// The reports that a trial's nodes make about themselves are metrics of five groups. These
// endpoints show them in the form of Determined's older pages.

// profilerPeriod is how often a follower looks for new reports: a node makes one every 10 s.
const profilerPeriod = 5 * time.Second

// maxSeries is the maximum number of series in the list of a trial.
const maxSeries = 1000

// reportProfilerMetrics rejects the form in which harnesses before 0.30 report.
func (d Deps) reportProfilerMetrics(context.Context, *rest.Call, *v1.None) (*v1.None, error) {
	return nil, fault.New(fault.Unimplemented, "this master accepts no batches of the profiler, which harnesses before 0.30 send: use a newer harness, or send measurements to POST /api/v1/trials/<id>/metrics, with one of the groups %s",
		strings.Join(report.NodeGroups(), ", "))
}

// sendWhile streams what send finds; with follow, again and again until the trial has ended. Its limits are
// those of sendEvery.
func (d Deps) sendWhile(c *rest.Call, trial int, follow bool, send func(ctx context.Context, out *rest.Records) error) error {
	leave, err := d.Streams.Join(c.Who().Username)
	if err != nil {
		return err
	}
	owner := c.Owner()
	return c.Stream(func(ctx context.Context, out *rest.Records) error {
		defer leave()
		out.LimitStall(rest.StreamStalls)
		for {
			t, err := d.Trial(ctx, trial)
			over := t.Ended || !follow
			if err == nil {
				err = d.InTurn(ctx, owner, func() error { return send(ctx, out) })
			}
			if err != nil && (over || !fault.Is(err, fault.Unavailable)) {
				return err
			}
			if gone := out.Flush(); gone != nil || err == nil && over {
				return gone
			}
			if err := sleep.For(ctx, profilerPeriod); err != nil {
				return err
			}
		}
	})
}

func wireSeries(trial int, s report.NodeSeries) v1.TrialProfilerMetricLabels {
	return v1.TrialProfilerMetricLabels{TrialID: trial, Name: s.Name, AgentID: s.Agent, GpuUUID: s.Part, MetricType: v1.ProfilerMetricTypeSystem}
}

// A nodeReports reads what the nodes of a trial have reported, and then what is new.
type nodeReports struct {
	db    *database.DB
	trial int
	after map[string]GroupPosition // by group; a group that is missing begins with a sample
}

func (d Deps) nodeReports(trial int, sample bool) *nodeReports {
	f := &nodeReports{db: d.DB, trial: trial, after: map[string]GroupPosition{}}
	for _, group := range report.NodeGroups() {
		if !sample {
			f.after[group] = BeforeFirst()
		}
	}
	return f
}

func (f *nodeReports) read(ctx context.Context, fn func([]Row) error) (err error) {
	for _, group := range report.NodeGroups() {
		at, begun := f.after[group]
		if begun {
			at, err = EachAfter(ctx, f.db, f.trial, group, at, fn)
		} else {
			at, err = EachSampled(ctx, f.db, f.trial, group, fn)
		}
		if begun || err == nil {
			f.after[group] = at
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// profilerSeries streams the list of a trial's series, again whenever it grows. Of many reports it knows a sample.
func (d Deps) profilerSeries(_ context.Context, c *rest.Call, t Trial, req *v1.FollowRequest) error {
	from := d.nodeReports(t.ID, true)
	known := map[report.NodeSeries]bool{}
	sent := -1
	return d.sendWhile(c, t.ID, req.Follow, func(ctx context.Context, out *rest.Records) error {
		err := from.read(ctx, func(page []Row) error {
			for _, m := range page {
				for s, v := range report.OfNodes(m.Metrics) {
					if isNumber(v) && len(known) < maxSeries {
						known[s] = true
					}
				}
			}
			return nil
		})
		if err != nil || len(known) == sent {
			return err
		}
		sent = len(known)
		labels := each.Of(inOrder(known), func(s report.NodeSeries) v1.TrialProfilerMetricLabels { return wireSeries(t.ID, s) })
		return out.Add(v1.GetTrialProfilerAvailableSeriesResponse{Labels: labels})
	})
}

// profilerMetrics streams the points of the series that the query's labels choose; without a name, those of all.
func (d Deps) profilerMetrics(_ context.Context, c *rest.Call, t Trial, req *v1.GetProfilerMetricsRequest) error {
	kind := req.MetricType
	ours := kind == "" || kind == v1.ProfilerMetricTypeUnspecified || kind == v1.ProfilerMetricTypeSystem // all series are of the system
	wanted := func(s report.NodeSeries) bool {
		return ours && (req.Name == "" || s.Name == req.Name) && (req.AgentID == "" || s.Agent == req.AgentID) &&
			(req.GPUUUID == "" || s.Part == req.GPUUUID)
	}
	from := d.nodeReports(t.ID, req.Sample)
	return d.sendWhile(c, t.ID, req.Follow, func(ctx context.Context, out *rest.Records) error {
		return from.read(ctx, func(page []Row) error { return sendBatches(out, t.ID, page, wanted) })
	})
}

// sendBatches sends a record for each wanted series of a page, or of a part of it that has maxSeries.
func sendBatches(out *rest.Records, trial int, page []Row, wanted func(report.NodeSeries) bool) error {
	found := map[report.NodeSeries]*v1.TrialProfilerMetricsBatch{}
	send := func() error {
		for _, s := range inOrder(found) {
			if err := out.Add(v1.GetTrialProfilerMetricsResponse{Batch: *found[s]}); err != nil {
				return err
			}
		}
		clear(found)
		return out.Flush()
	}
	for _, m := range page {
		for s, v := range report.OfNodes(m.Metrics) {
			if !wanted(s) || !isNumber(v) {
				continue
			}
			b := found[s]
			if b == nil {
				b = &v1.TrialProfilerMetricsBatch{Labels: wireSeries(trial, s)}
				found[s] = b
			}
			b.Values, b.Batches, b.Timestamps = append(b.Values, v), append(b.Batches, optional.Value(m.Steps)), append(b.Timestamps, m.ReportedAt)
		}
		if len(found) >= maxSeries {
			if err := send(); err != nil {
				return err
			}
		}
	}
	return send()
}

func isNumber(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func inOrder[V any](of map[report.NodeSeries]V) []report.NodeSeries {
	return slices.SortedFunc(maps.Keys(of), func(x, y report.NodeSeries) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Agent, y.Agent), cmp.Compare(x.Part, y.Part))
	})
}
