package client

import (
	"context"
	"iter"
	"net/url"
	"strconv"

	v1 "github.com/detent-ml/detent/master/v1"
)

// The groups of metrics that every trial has.
const (
	TrainingGroup   = "training"
	ValidationGroup = "validation"
)

// TrialMetrics reads all reports of a group of metrics of some trials, in order of steps.
func (c *Client) TrialMetrics(ctx context.Context, group string, trials ...int) iter.Seq2[v1.MetricsReport, error] {
	q := url.Values{}
	one(q, "group", group)
	for _, id := range trials {
		q.Add("trialIds", strconv.Itoa(id))
	}
	return func(yield func(v1.MetricsReport, error) bool) {
		for batch, err := range stream[v1.GetMetricsResponse](ctx, c, v1.StreamTrialMetrics, q) {
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
