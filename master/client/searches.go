package client

import (
	"context"

	"github.com/detent-ml/detent/master/v1"
)

// PreviewSearch says what a search would do; config is a JSON object.
func (c *Client) PreviewSearch(ctx context.Context, config v1.Struct) (*v1.SearchSummary, error) {
	var out v1.PreviewHPSearchResponse
	if err := c.post(ctx, "/preview-hp-search", v1.PreviewHPSearchRequest{Config: config}, &out); err != nil {
		return nil, err
	}
	if out.Summary == nil {
		return &v1.SearchSummary{}, nil
	}
	return out.Summary, nil
}
