package client

import (
	"context"
	"iter"

	v1 "github.com/detent-ml/detent/master/v1"
)

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
