package client

import (
	"context"
	"iter"
	"net/url"
	"strconv"

	"github.com/detent-ml/detent/master/v1"
)

func trialPath(id int) string { return "/trials/" + strconv.Itoa(id) }

// Trials lists the trials of an experiment.
func (c *Client) Trials(ctx context.Context, experiment int, p Page) iter.Seq2[v1.Trial, error] {
	return pages(ctx, p, func(ctx context.Context, p Page) ([]v1.Trial, v1.Pagination, error) {
		q := url.Values{}
		p.set(q)
		var out v1.GetExperimentTrialsResponse
		err := c.get(ctx, experimentPath(experiment)+"/trials", q, &out)
		return out.Trials, out.Pagination, err
	})
}

// Trial reads one.
func (c *Client) Trial(ctx context.Context, id int) (*v1.Trial, error) {
	var out v1.GetTrialResponse
	if err := c.get(ctx, trialPath(id), nil, &out); err != nil {
		return nil, err
	}
	return &out.Trial, nil
}

// KillTrial ends a trial now.
func (c *Client) KillTrial(ctx context.Context, id int) error {
	return c.say(ctx, trialPath(id)+"/kill")
}

// Workloads lists what a trial has reported and saved, in steps.
func (c *Client) Workloads(ctx context.Context, trial int, batchMetrics bool, p Page) iter.Seq2[v1.WorkloadContainer, error] {
	return pages(ctx, p, func(ctx context.Context, p Page) ([]v1.WorkloadContainer, v1.Pagination, error) {
		q := url.Values{}
		if batchMetrics {
			q.Set("includeBatchMetrics", "true")
		}
		p.set(q)
		var out v1.GetTrialWorkloadsResponse
		err := c.get(ctx, trialPath(trial)+"/workloads", q, &out)
		return out.Workloads, out.Pagination, err
	})
}
