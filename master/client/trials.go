package client

import (
	"context"
	"iter"
	"slices"

	v1 "github.com/detent-ml/detent/master/v1"
)

// Trial returns one trial.
func (c *Client) Trial(ctx context.Context, id int) (*v1.Trial, error) {
	out, err := Call(ctx, c, v1.GetTrial, id)
	return &out.Trial, err
}

// LastWorkloads returns at most n of the newest reports and checkpoints of a trial, in order of steps, and how many there are.
func (c *Client) LastWorkloads(ctx context.Context, trial, n int) ([]v1.WorkloadContainer, int, error) {
	request := v1.GetTrialWorkloadsRequest{OrderBy: "ORDER_BY_DESC", Window: v1.Window{Limit: n}}
	out, err := Send(ctx, c, v1.ListTrialWorkloads, request, trial)
	slices.Reverse(out.Workloads)
	return out.Workloads, out.Pagination.Total, err
}

// The groups of metrics that every trial has.
const (
	TrainingGroup   = "training"
	ValidationGroup = "validation"
)

// TrialMetrics reads all reports of a group of metrics of some trials, in order of steps.
func (c *Client) TrialMetrics(ctx context.Context, group string, trials ...int) iter.Seq2[v1.MetricsReport, error] {
	return func(yield func(v1.MetricsReport, error) bool) {
		for batch, err := range stream[v1.GetMetricsResponse](ctx, c, v1.StreamTrialMetrics, &v1.GetMetricsRequest{TrialIDs: trials, Group: group}) {
			if err != nil {
				yield(v1.MetricsReport{}, err)
				return
			}
			for _, report := range batch.Metrics {
				if !yield(report, nil) {
					return
				}
			}
		}
	}
}
