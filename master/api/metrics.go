package api

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerMetrics() {
	rest.Serve(a.router, v1.ReportProfilerMetrics, a.reportProfilerMetrics) // before /trials/:id
	rest.ServeOn(a.router, v1.ReportMetrics, a.onReportingTrial(), a.reportMetrics)
	rest.ServeOn(a.router, v1.ReportTrainingMetrics, a.onReportingTrial(), a.reportGroup(store.Training))
	rest.RawQuery(a.router, v1.StreamTrainingMetrics, a.streamMetrics(store.Training))
	rest.ServeOn(a.router, v1.ReportValidationMetrics, a.onReportingTrial(), a.reportGroup(store.Validation))
	rest.RawQuery(a.router, v1.StreamValidationMetrics, a.streamMetrics(store.Validation))
	rest.RawQuery(a.router, v1.StreamTrialMetrics, a.streamMetrics(""))
	rest.Serve(a.router, v1.GetTimeSeries, a.timeSeries)
}

// reportMetrics is the most frequent route: it answers when the report is committed, together
// with other reports of the same moment.
func (a *API) reportMetrics(ctx context.Context, c *rest.Call, of reporter, req *v1.ReportTrialMetricsRequest) (*v1.None, error) {
	return a.report(ctx, c, of, req.Group, &req.Metrics)
}

// reportGroup accepts the form whose path names the group.
func (a *API) reportGroup(group string) func(context.Context, *rest.Call, reporter, *v1.TrialMetrics) (*v1.None, error) {
	return func(ctx context.Context, c *rest.Call, of reporter, m *v1.TrialMetrics) (*v1.None, error) {
		return a.report(ctx, c, of, group, m)
	}
}

func (a *API) report(ctx context.Context, c *rest.Call, of reporter, group string, m *v1.TrialMetrics) (*v1.None, error) {
	id := of.trial
	err := a.admitOutside(ctx, c, of.is.OwnerID, len(m.Metrics.AvgMetrics)+len(m.Metrics.BatchMetrics)*bytesOfBatch)
	if err != nil {
		return nil, err
	}
	if err := a.heard(ctx, c, of.task); err != nil {
		return nil, err
	}
	if m.TrialID != 0 && m.TrialID != id {
		return nil, fault.New(fault.Invalid, "metrics.trialId: the path has %d, the body %d", id, m.TrialID)
	}
	if c.Who().IsTask() && m.TrialRunID != c.Who().RunID {
		return nil, fault.New(fault.Conflict, "attempt %s is run %d of trial %d and may not report for run %d", c.Who().AllocationID, c.Who().RunID, id, m.TrialRunID)
	}
	r := store.Report{TrialID: id, RunID: m.TrialRunID, Group: group, Steps: m.StepsCompleted, Metrics: json.RawMessage(m.Metrics.AvgMetrics)}
	if m.ReportTime != nil {
		r.At = *m.ReportTime
	}
	if len(m.Metrics.BatchMetrics) > 0 {
		if r.Batches, err = v1.Marshal(m.Metrics.BatchMetrics); err != nil {
			return nil, err
		}
	}
	if err := a.taskIO.metrics.Report(ctx, r); err != nil {
		return nil, err
	}
	a.logMissingMetric(ctx, c, r)
	return &v1.None{}, nil
}

// metricsKey is the field of a report's averages: clients read the one that its group always
// had.
func metricsKey(group string) string {
	if group == store.Validation {
		return "validation_metrics"
	}
	return "avg_metrics"
}

// wireReport is a report in the form of the API.
func wireReport(m store.MetricRow) v1.MetricsReport {
	body := append([]byte(`{"`+metricsKey(m.Group)+`":`), m.Metrics...)
	if len(m.Batches) > 0 {
		body = append(append(body, `,"batch_metrics":`...), m.Batches...)
	}
	w := v1.MetricsReport{EndTime: m.ReportedAt, Group: m.Group, ID: int(m.ID), Metrics: append(body, '}'), TrialID: m.TrialID, TrialRunID: m.RunID}
	if m.Steps != nil {
		w.TotalBatches = *m.Steps
	}
	return w
}

// streamMetrics streams all reports of some trials, in pages. With an empty group, the request
// names the group.
func (a *API) streamMetrics(group string) func(context.Context, *rest.Call, *v1.GetMetricsRequest) error {
	return func(ctx context.Context, c *rest.Call, req *v1.GetMetricsRequest) error {
		ids := distinct(req.TrialIDs)
		if len(ids) == 0 {
			return fault.New(fault.Invalid, "trialIds: name at least one trial")
		}
		wanted := cmp.Or(group, req.Group)
		_, err := rest.InTurn(ctx, c, func(ctx context.Context) (none struct{}, err error) {
			for _, id := range ids {
				if _, err = a.visibleTrial(ctx, c, id); err != nil {
					break
				}
			}
			return none, err
		})
		if err != nil {
			return err
		}
		owner := c.Owner()
		return c.Stream(func(ctx context.Context, out *rest.Records) error {
			out.LimitStall(rest.StreamStalls)
			return a.inSeries(ctx, owner, func() error {
				return a.db.EachMetric(ctx, ids, wanted, func(page []store.MetricRow) error {
					list := make([]v1.MetricsReport, len(page))
					for i, m := range page {
						list[i] = wireReport(m)
					}
					if err := out.Add(v1.GetMetricsResponse{Metrics: list}); err != nil {
						return err
					}
					return out.Flush()
				})
			})
		})
	}
}
