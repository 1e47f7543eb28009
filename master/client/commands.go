package client

import (
	"context"

	v1 "github.com/detent-ml/detent/master/v1"
)

// LaunchCommand starts a command.
func (c *Client) LaunchCommand(ctx context.Context, req v1.LaunchCommandRequest) (*v1.LaunchCommandResponse, error) {
	return post(ctx, c, v1.CreateCommand, req)
}

// Commands lists commands.
func (c *Client) Commands(ctx context.Context, request v1.GetCommandsRequest) ([]v1.Command, error) {
	out, err := get(ctx, c, v1.ListCommands, &request)
	return out.Commands, err
}

// Command returns one command, with its configuration.
func (c *Client) Command(ctx context.Context, id string) (*v1.GetCommandResponse, error) {
	return get(ctx, c, v1.GetCommand, nil, id)
}

// KillCommand kills a command.
func (c *Client) KillCommand(ctx context.Context, id string) error {
	return act(ctx, c, v1.KillCommand, id)
}

// SetCommandPriority changes the priority of a command in the queue.
func (c *Client) SetCommandPriority(ctx context.Context, id string, priority int) error {
	_, err := post(ctx, c, v1.PrioritizeCommand, v1.PriorityRequest{Priority: priority}, id)
	return err
}
