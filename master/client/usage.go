package client

import (
	"context"
	"io"
	"iter"
	"net/url"

	v1 "github.com/detent-ml/detent/master/v1"
)

// A UsageQuery has the parameters of a request for used slots, by their names in the API.
type UsageQuery url.Values

// UsageCSV streams an answer of accounting as CSV.
func (c *Client) UsageCSV(ctx context.Context, l v1.Line, q UsageQuery) (io.ReadCloser, error) {
	k := call{method: l.Method, path: l.At(), query: url.Values(q), accept: "text/csv", repeat: safely}
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

// DiskUse lists how much disk workspaces use.
func (c *Client) DiskUse(ctx context.Context) iter.Seq2[v1.DiskUse, error] {
	return list(ctx, c, v1.ListDiskUse, Page{}, url.Values{}, func(r *v1.GetDiskUseResponse) ([]v1.DiskUse, v1.Pagination) {
		return r.Workspaces, pagination(r.Pagination)
	})
}
