package client

import (
	"context"
	"iter"

	"github.com/detent-ml/detent/master/optional"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Quotas lists the quotas that a request chooses.
func (c *Client) Quotas(ctx context.Context, of v1.GetQuotasRequest) iter.Seq2[v1.Quota, error] {
	return list(ctx, c, v1.ListQuotas, Page{}, &of, func(r *v1.GetQuotasResponse) ([]v1.Quota, v1.Pagination) {
		return r.Quotas, optional.Value(r.Pagination)
	})
}
