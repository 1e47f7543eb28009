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

// CreateToken makes an access token.
func (c *Client) CreateToken(ctx context.Context, req v1.PostAccessTokenRequest) (*v1.PostAccessTokenResponse, error) {
	return post(ctx, c, v1.CreateToken, req)
}

// ChangeToken changes an access token, or revokes it.
func (c *Client) ChangeToken(ctx context.Context, req v1.PatchAccessTokenRequest) (*v1.TokenInfo, error) {
	out, err := post(ctx, c, v1.ChangeToken, req, req.TokenID)
	if err != nil {
		return nil, err
	}
	return out.TokenInfo, nil
}
