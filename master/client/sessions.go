package client

import (
	"context"
	"iter"

	v1 "github.com/detent-ml/detent/master/v1"
)

// Sessions lists where users are signed in: by default the caller.
func (c *Client) Sessions(ctx context.Context, request v1.GetSessionsRequest) iter.Seq2[v1.Session, error] {
	return list(ctx, c, v1.ListSessions, Page{}, &request, func(r *v1.GetSessionsResponse) ([]v1.Session, v1.Pagination) {
		return r.Sessions, pagination(r.Pagination)
	})
}
