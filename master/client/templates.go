package client

import (
	"context"
	"iter"

	v1 "github.com/detent-ml/detent/master/v1"
)

// Templates lists templates.
func (c *Client) Templates(ctx context.Context, page Page) iter.Seq2[v1.Template, error] {
	request := v1.GetTemplatesRequest{Order: v1.Order{SortBy: "SORT_BY_NAME"}}
	return Each(ctx, c, v1.ListTemplates, page, &request)
}

// Template returns one template.
func (c *Client) Template(ctx context.Context, name string) (*v1.Template, error) {
	out, err := Call(ctx, c, v1.GetTemplate, name)
	return &out.Template, err
}
