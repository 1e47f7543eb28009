package client

import (
	"context"
	"iter"

	v1 "github.com/detent-ml/detent/master/v1"
)

// SearchExperiments lists the experiments that a filter selects, with their best trials. The
// limit and offset of the request are those of the page.
func (c *Client) SearchExperiments(ctx context.Context, req v1.SearchExperimentsRequest, page Page) iter.Seq2[v1.SearchExperimentExperiment, error] {
	return pages(ctx, page, func(ctx context.Context, p Page) ([]v1.SearchExperimentExperiment, v1.Pagination, error) {
		req.Limit, req.Offset = &p.Limit, &p.Offset
		out, err := Send(ctx, c, v1.SearchExperiments, req)
		if err != nil {
			return nil, v1.Pagination{}, err
		}
		return out.Experiments, out.Pagination, nil
	})
}
