package client

import (
	"context"

	v1 "github.com/detent-ml/detent/master/v1"
)

// LaunchTensorboard starts a TensorBoard.
func (c *Client) LaunchTensorboard(ctx context.Context, req v1.LaunchTensorboardRequest) (*v1.LaunchTensorboardResponse, error) {
	return post(ctx, c, v1.CreateTensorboard, req)
}

// Tensorboards lists TensorBoards.
func (c *Client) Tensorboards(ctx context.Context, request v1.GetCommandsRequest) ([]v1.Tensorboard, error) {
	out, err := get(ctx, c, v1.ListTensorboards, &request)
	return out.Tensorboards, err
}

// Tensorboard returns one TensorBoard, with its configuration.
func (c *Client) Tensorboard(ctx context.Context, id string) (*v1.GetTensorboardResponse, error) {
	return get(ctx, c, v1.GetTensorboard, nil, id)
}

// KillTensorboard kills a TensorBoard.
func (c *Client) KillTensorboard(ctx context.Context, id string) error {
	return act(ctx, c, v1.KillTensorboard, id)
}

// SetTensorboardPriority changes the priority of a TensorBoard in the queue.
func (c *Client) SetTensorboardPriority(ctx context.Context, id string, priority int) error {
	_, err := post(ctx, c, v1.PrioritizeTensorboard, v1.PriorityRequest{Priority: priority}, id)
	return err
}
