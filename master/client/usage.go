package client

import (
	"context"
	"io"

	v1 "github.com/detent-ml/detent/master/v1"
)

// UsageCSV streams an answer of accounting as CSV.
func UsageCSV[Req any](ctx context.Context, c *Client, e v1.Endpoint[Req, v1.None], request *Req) (io.ReadCloser, error) {
	k := callOf(e)
	k.query, k.accept = queryOf(request), "text/csv"
	resp, err := c.send(ctx, k)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// UsersDiskUse lists what the caller stores in the database, or, to administrators of the cluster, the users who store the most. limit is
// how many bytes one user may store; 0 is no limit.
func (c *Client) UsersDiskUse(ctx context.Context) (list []v1.UserDiskUse, limit int64, err error) {
	resp, err := Send(ctx, c, v1.ListDiskUse, v1.GetListRequest{Window: v1.Window{Limit: 1}})
	return resp.Users, resp.UserLimit, err
}
