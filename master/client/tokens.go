package client

import (
	"context"
	"iter"

	v1 "github.com/detent-ml/detent/master/v1"
)

// Tokens lists access tokens: the caller's, or an administrator those of all users.
func (c *Client) Tokens(ctx context.Context, request v1.GetAccessTokensRequest) iter.Seq2[v1.TokenInfo, error] {
	return list(ctx, c, v1.ListTokens, Page{}, &request, func(r *v1.GetAccessTokensResponse) ([]v1.TokenInfo, v1.Pagination) {
		return r.TokenInfo, pagination(r.Pagination)
	})
}
