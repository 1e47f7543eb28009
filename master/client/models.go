package client

import (
	"context"
	"iter"

	v1 "github.com/detent-ml/detent/master/v1"
)

// Model reads a model by its name or its number.
func (c *Client) Model(ctx context.Context, name string) (*v1.Model, error) {
	out, err := Call(ctx, c, v1.GetModel, name)
	return &out.Model, err
}

// ModelVersions lists the versions of a model, the newest first.
func (c *Client) ModelVersions(ctx context.Context, name string, page Page) iter.Seq2[v1.ModelVersion, error] {
	request := v1.GetModelVersionsRequest{Order: v1.Order{SortBy: "SORT_BY_VERSION", OrderBy: "ORDER_BY_DESC"}}
	return Each(ctx, c, v1.ListModelVersions, page, &request, name)
}
