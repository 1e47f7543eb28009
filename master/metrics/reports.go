package metrics

import (
	"cmp"
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics/report"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// metricsKey is the field of a report's averages: clients read the one that its group always
// had.
func metricsKey(group string) string {
	if group == report.Validation {
		return "validation_metrics"
	}
	return "avg_metrics"
}

// Wire is a report in the form of the API.
func Wire(m Row) v1.MetricsReport {
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

// streamReports streams all reports of some trials, in pages. With an empty group, the request
// names the group.
func (d Deps) streamReports(group string) func(context.Context, *rest.Call, *v1.GetMetricsRequest) error {
	return func(ctx context.Context, c *rest.Call, req *v1.GetMetricsRequest) error {
		ids := rest.Distinct(req.TrialIDs)
		if len(ids) == 0 {
			return fault.New(fault.Invalid, "trialIds: name at least one trial")
		}
		wanted := cmp.Or(group, req.Group)
		_, err := rest.InTurn(ctx, c, func(ctx context.Context) (none struct{}, err error) {
			for _, id := range ids {
				t, err := d.Trial(ctx, id)
				if err == nil {
					err = d.onTrial().Allow(c, auth.View, t)
				}
				if err != nil {
					return none, err
				}
			}
			return none, nil
		})
		if err != nil {
			return err
		}
		owner := c.Owner()
		return c.Stream(func(ctx context.Context, out *rest.Records) error {
			out.LimitStall(rest.StreamStalls)
			return d.InTurn(ctx, owner, func() error {
				return Each(ctx, d.DB, ids, wanted, func(page []Row) error {
					list := each.Of(page, func(m Row) v1.MetricsReport { return Wire(m) })
					if err := out.Add(v1.GetMetricsResponse{Metrics: list}); err != nil {
						return err
					}
					return out.Flush()
				})
			})
		})
	}
}
