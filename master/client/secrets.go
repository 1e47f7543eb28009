package client

import (
	"context"
	"iter"

	v1 "github.com/detent-ml/detent/master/v1"
)

// UserSecrets lists the secrets that the caller may mount in tasks.
func (c *Client) UserSecrets(ctx context.Context) iter.Seq2[v1.UserSecret, error] {
	return list(ctx, c, v1.ListUserSecrets, Page{}, nil, func(r *v1.GetUserSecretsResponse) ([]v1.UserSecret, v1.Pagination) {
		return r.Secrets, pagination(r.Pagination)
	})
}
