package client

import (
	"context"
	"iter"

	v1 "github.com/detent-ml/detent/master/v1"
)

// Tasks returns the attempts that run or wait, by allocation id.
func (c *Client) Tasks(ctx context.Context) (map[string]v1.AllocationSummary, error) {
	out, err := Call(ctx, c, v1.ListTasks)
	return out.AllocationIDToSummary, err
}

// Task returns one task, with its attempts, newest first.
func (c *Client) Task(ctx context.Context, id string) (*v1.Task, error) {
	out, err := Call(ctx, c, v1.GetTask, id)
	return &out.Task, err
}

// Jobs lists the jobs that run or wait in a pool ("": in all pools), in the order of the queue.
func (c *Client) Jobs(ctx context.Context, pool string, descending bool, p Page) iter.Seq2[v1.RBACJob, error] {
	request := v1.GetJobsRequest{ResourcePool: pool, OrderBy: "ORDER_BY_ASC"}
	if descending {
		request.OrderBy = "ORDER_BY_DESC"
	}
	return Each(ctx, c, v1.ListJobs, p, &request)
}
