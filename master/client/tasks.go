package client

import (
	"context"
	"net/url"

	"github.com/detent-ml/detent/master/v1"
)

// Tasks is what runs or waits now, by allocation.
func (c *Client) Tasks(ctx context.Context) (map[string]v1.AllocationSummary, error) {
	var out v1.GetTasksResponse
	err := c.get(ctx, "/tasks", nil, &out)
	return out.AllocationIDToSummary, err
}

// Task reads one, with its allocations, the newest first.
func (c *Client) Task(ctx context.Context, id string) (*v1.Task, error) {
	var out v1.GetTaskResponse
	if err := c.get(ctx, "/tasks/"+url.PathEscape(id), nil, &out); err != nil {
		return nil, err
	}
	return &out.Task, nil
}
