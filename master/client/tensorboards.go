package client

import (
	"context"

	"github.com/detent-ml/detent/master/v1"
)

// LaunchTensorboard starts a TensorBoard.
func (c *Client) LaunchTensorboard(ctx context.Context, req v1.LaunchTensorboardRequest) (*v1.LaunchTensorboardResponse, error) {
	var out v1.LaunchTensorboardResponse
	return &out, c.post(ctx, "/tensorboards", req, &out)
}

// Tensorboards lists them.
func (c *Client) Tensorboards(ctx context.Context, query CommandQuery) ([]v1.Tensorboard, error) {
	var out v1.GetTensorboardsResponse
	err := c.get(ctx, "/tensorboards", query.values(), &out)
	return out.Tensorboards, err
}

// Tensorboard reads one, with its configuration.
func (c *Client) Tensorboard(ctx context.Context, id string) (*v1.GetTensorboardResponse, error) {
	var out v1.GetTensorboardResponse
	return &out, c.get(ctx, taskPath("tensorboards", id), nil, &out)
}

// KillTensorboard ends a TensorBoard now.
func (c *Client) KillTensorboard(ctx context.Context, id string) error {
	return c.say(ctx, taskPath("tensorboards", id)+"/kill")
}

// SetTensorboardPriority changes a TensorBoard's place in the queue.
func (c *Client) SetTensorboardPriority(ctx context.Context, id string, priority int) error {
	return c.prioritize(ctx, taskPath("tensorboards", id), priority)
}
