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
