package client

import (
	"context"
	"iter"

	v1 "github.com/detent-ml/detent/master/v1"
)

// Jobs lists the jobs that run or wait in a pool ("": in all pools), in the order of the queue.
func (c *Client) Jobs(ctx context.Context, pool string, descending bool, p Page) iter.Seq2[v1.RBACJob, error] {
	request := v1.GetJobsRequest{ResourcePool: pool, OrderBy: "ORDER_BY_ASC"}
	if descending {
		request.OrderBy = "ORDER_BY_DESC"
	}
	return list(ctx, c, v1.ListJobs, p, &request, func(r *v1.GetJobsV2Response) ([]v1.RBACJob, v1.Pagination) { return r.Jobs, r.Pagination })
}
