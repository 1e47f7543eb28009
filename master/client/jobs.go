package client

import (
	"context"
	"iter"
	"net/url"

	"github.com/detent-ml/detent/master/v1"
)

// Jobs lists what waits and runs in a pool ("": in all), in the order of the queue.
func (c *Client) Jobs(ctx context.Context, pool string, descending bool, p Page) iter.Seq2[v1.RBACJob, error] {
	return pages(ctx, p, func(ctx context.Context, p Page) ([]v1.RBACJob, v1.Pagination, error) {
		q := url.Values{"orderBy": {"ORDER_BY_ASC"}}
		if descending {
			q.Set("orderBy", "ORDER_BY_DESC")
		}
		one(q, "resourcePool", pool)
		p.set(q)
		var out v1.GetJobsV2Response
		err := c.get(ctx, "/job-queues-v2", q, &out)
		return out.Jobs, out.Pagination, err
	})
}

// UpdateJobs changes jobs, in order.
func (c *Client) UpdateJobs(ctx context.Context, updates ...v1.QueueControl) error {
	return c.post(ctx, "/job-queues", v1.UpdateJobQueueRequest{Updates: updates}, nil)
}
