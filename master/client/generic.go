package client

import (
	"context"

	v1 "github.com/detent-ml/detent/master/v1"
)

// CreateGenericTask starts a generic task.
func (c *Client) CreateGenericTask(ctx context.Context, req v1.CreateGenericTaskRequest) (*v1.CreateGenericTaskResponse, error) {
	return post(ctx, c, v1.CreateGenericTask, req)
}

// GenericTaskConfig reads the configuration of a generic task as it was submitted, as JSON.
func (c *Client) GenericTaskConfig(ctx context.Context, id string) (string, error) {
	out, err := get(ctx, c, v1.GetGenericTaskConfig, nil, id)
	return out.Config, err
}

// KillGenericTask ends a generic task with those below it, or its whole tree.
func (c *Client) KillGenericTask(ctx context.Context, id string, fromRoot bool) error {
	_, err := post(ctx, c, v1.KillGenericTask, v1.KillGenericTaskRequest{TaskID: id, KillFromRoot: fromRoot}, id)
	return err
}

// PauseGenericTask pauses a generic task with those below it.
func (c *Client) PauseGenericTask(ctx context.Context, id string) error {
	return act(ctx, c, v1.PauseGenericTask, id)
}

// UnpauseGenericTask ends the pause of a generic task and of those below it.
func (c *Client) UnpauseGenericTask(ctx context.Context, id string) error {
	return act(ctx, c, v1.UnpauseGenericTask, id)
}
