package client

import (
	"context"
	"iter"
	"slices"

	v1 "github.com/detent-ml/detent/master/v1"
)

// Trials lists the trials of an experiment.
func (c *Client) Trials(ctx context.Context, experiment int, p Page) iter.Seq2[v1.Trial, error] {
	return list(ctx, c, v1.ListTrials, p, nil, func(r *v1.GetExperimentTrialsResponse) ([]v1.Trial, v1.Pagination) {
		return r.Trials, r.Pagination
	}, experiment)
}

// Trial returns one trial.
func (c *Client) Trial(ctx context.Context, id int) (*v1.Trial, error) {
	out, err := Call(ctx, c, v1.GetTrial, id)
	if err != nil {
		return nil, err
	}
	return &out.Trial, nil
}

// Workloads lists the reports and checkpoints of a trial, in order of steps.
func (c *Client) Workloads(ctx context.Context, trial int, batchMetrics bool, p Page) iter.Seq2[v1.WorkloadContainer, error] {
	request := v1.GetTrialWorkloadsRequest{IncludeBatchMetrics: batchMetrics}
	return list(ctx, c, v1.ListTrialWorkloads, p, &request, func(r *v1.GetTrialWorkloadsResponse) ([]v1.WorkloadContainer, v1.Pagination) {
		return r.Workloads, r.Pagination
	}, trial)
}

// LastWorkloads returns at most n of the newest reports and checkpoints of a trial, in order of steps, and how many there are.
func (c *Client) LastWorkloads(ctx context.Context, trial, n int) ([]v1.WorkloadContainer, int, error) {
	request := v1.GetTrialWorkloadsRequest{OrderBy: "ORDER_BY_DESC", Window: v1.Window{Limit: n}}
	out, err := Send(ctx, c, v1.ListTrialWorkloads, request, trial)
	if err != nil {
		return nil, 0, err
	}
	slices.Reverse(out.Workloads)
	return out.Workloads, out.Pagination.Total, nil
}
