package client

import (
	"context"
	"io"
	"net/url"

	v1 "github.com/detent-ml/detent/master/v1"
)

// A UsageQuery has the parameters of a request for used slots, by their names in the API.
type UsageQuery url.Values

// UsageCSV streams an answer of accounting as CSV.
func (c *Client) UsageCSV(ctx context.Context, e v1.Endpoint[v1.None, v1.None], q UsageQuery) (io.ReadCloser, error) {
	k := callOf(e)
	k.query, k.accept = url.Values(q), "text/csv"
	resp, err := c.send(ctx, k)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// RawUsage lists what attempts held within a time.
func (c *Client) RawUsage(ctx context.Context, q UsageQuery) (*v1.ResourceAllocationRawResponse, error) {
	return get(ctx, c, v1.GetRawUsage, url.Values(q))
}

// AggregatedUsage returns the slot-seconds of days or months.
func (c *Client) AggregatedUsage(ctx context.Context, q UsageQuery) (*v1.ResourceAllocationAggregatedResponse, error) {
	return get(ctx, c, v1.GetAggregatedUsage, url.Values(q))
}
