package client

import (
	"context"
	"iter"
	"net/url"

	v1 "github.com/detent-ml/detent/master/v1"
)

// SessionQuery chooses sessions: by default the caller's own.
type SessionQuery struct {
	Username string
	All      bool
}

// Sessions lists where users are signed in.
func (c *Client) Sessions(ctx context.Context, query SessionQuery) iter.Seq2[v1.Session, error] {
	q := url.Values{}
	if query.Username != "" {
		q.Set("username", query.Username)
	}
	if query.All {
		q.Set("all", "true")
	}
	return list(ctx, c, v1.ListSessions, Page{}, q, func(r *v1.GetSessionsResponse) ([]v1.Session, v1.Pagination) {
		return r.Sessions, pagination(r.Pagination)
	})
}

// EndSession ends a sign-in.
func (c *Client) EndSession(ctx context.Context, id int) error {
	return act(ctx, c, v1.EndSession, id)
}
