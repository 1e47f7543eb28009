package client

import (
	"context"

	v1 "github.com/detent-ml/detent/master/v1"
)

// PreviewSearch lists the trials that a search would create; config is a JSON object.
func (c *Client) PreviewSearch(ctx context.Context, config v1.Struct) (*v1.SearchSummary, error) {
	out, err := Send(ctx, c, v1.PreviewSearch, v1.PreviewHPSearchRequest{Config: config})
	if err != nil {
		return nil, err
	}
	if out.Summary == nil {
		return &v1.SearchSummary{}, nil
	}
	return out.Summary, nil
}

// Columns lists the columns by which the experiments of all projects can be searched.
func (c *Client) Columns(ctx context.Context) ([]v1.ProjectColumn, error) {
	const all = 0 // projects
	out, err := Send(ctx, c, v1.ListProjectColumns, v1.GetProjectColumnsRequest{}, all)
	if err != nil {
		return nil, err
	}
	return out.Columns, nil
}
