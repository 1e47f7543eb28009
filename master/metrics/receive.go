package metrics

import (
	"context"
	"encoding/json"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// bytesOfBatch is about what the metrics of one batch take.
const bytesOfBatch = 64

// reportMetrics is the most frequent route: it answers when the report is committed, together
// with other reports of the same moment.
func (d Deps) reportMetrics(ctx context.Context, c *rest.Call, of Trial, req *v1.ReportTrialMetricsRequest) (*v1.None, error) {
	return d.report(ctx, c, of, req.Group, &req.Metrics)
}

// reportGroup accepts the form whose path names the group.
func (d Deps) reportGroup(group string) func(context.Context, *rest.Call, Trial, *v1.TrialMetrics) (*v1.None, error) {
	return func(ctx context.Context, c *rest.Call, of Trial, m *v1.TrialMetrics) (*v1.None, error) {
		return d.report(ctx, c, of, group, m)
	}
}

func (d Deps) report(ctx context.Context, c *rest.Call, of Trial, group string, m *v1.TrialMetrics) (*v1.None, error) {
	id := of.ID
	if err := d.Accept(ctx, c, of, len(m.Metrics.AvgMetrics)+len(m.Metrics.BatchMetrics)*bytesOfBatch); err != nil {
		return nil, err
	}
	if m.TrialID != 0 && m.TrialID != id {
		return nil, fault.New(fault.Invalid, "metrics.trialId: the path has %d, the body %d", id, m.TrialID)
	}
	if c.Who().IsTask() && m.TrialRunID != c.Who().RunID {
		return nil, fault.New(fault.Conflict, "attempt %s is run %d of trial %d and may not report for run %d", c.Who().AllocationID, c.Who().RunID, id, m.TrialRunID)
	}
	r := Report{TrialID: id, RunID: m.TrialRunID, Group: group, Steps: m.StepsCompleted, Metrics: json.RawMessage(m.Metrics.AvgMetrics)}
	if m.ReportTime != nil {
		r.At = *m.ReportTime
	}
	if len(m.Metrics.BatchMetrics) > 0 {
		var err error
		if r.Batches, err = v1.Marshal(m.Metrics.BatchMetrics); err != nil {
			return nil, err
		}
	}
	if err := d.Writer.Report(ctx, r); err != nil {
		return nil, err
	}
	d.logMissingMetric(ctx, c, r)
	return &v1.None{}, nil
}
