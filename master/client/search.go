package client

import (
	"context"
	"iter"

	"github.com/detent-ml/detent/master/v1"
)

// SearchExperiments lists the experiments that a filter finds, with their best
// trials. Limit and offset of the request are the page's.
func (c *Client) SearchExperiments(ctx context.Context, req v1.SearchExperimentsRequest, page Page) iter.Seq2[v1.SearchExperimentExperiment, error] {
	return pages(ctx, page, func(ctx context.Context, p Page) ([]v1.SearchExperimentExperiment, v1.Pagination, error) {
		req.Limit, req.Offset = &p.Limit, &p.Offset
		var out v1.SearchExperimentsResponse
		err := c.post(ctx, "/experiments-search", req, &out)
		return out.Experiments, out.Pagination, err
	})
}
