package client

import (
	"context"

	v1 "github.com/detent-ml/detent/master/v1"
)

// Tasks returns the attempts that run or wait, by allocation id.
func (c *Client) Tasks(ctx context.Context) (map[string]v1.AllocationSummary, error) {
	out, err := Call(ctx, c, v1.ListTasks)
	return out.AllocationIDToSummary, err
}

// Task returns one task, with its attempts, newest first.
func (c *Client) Task(ctx context.Context, id string) (*v1.Task, error) {
	out, err := Call(ctx, c, v1.GetTask, id)
	if err != nil {
		return nil, err
	}
	return &out.Task, nil
}
