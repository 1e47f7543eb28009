package client

import (
	"context"

	v1 "github.com/detent-ml/detent/master/v1"
)

// LaunchShell starts a shell.
func (c *Client) LaunchShell(ctx context.Context, req v1.LaunchShellRequest) (*v1.LaunchShellResponse, error) {
	return post(ctx, c, v1.CreateShell, req)
}

// Shells lists shells, without their private keys.
func (c *Client) Shells(ctx context.Context, request v1.GetCommandsRequest) ([]v1.Shell, error) {
	out, err := get(ctx, c, v1.ListShells, &request)
	return out.Shells, err
}

// Shell returns one shell, with its configuration, and with its private key if the caller may
// log in to it.
func (c *Client) Shell(ctx context.Context, id string) (*v1.GetShellResponse, error) {
	return get(ctx, c, v1.GetShell, nil, id)
}

// KillShell kills a shell.
func (c *Client) KillShell(ctx context.Context, id string) error {
	return act(ctx, c, v1.KillShell, id)
}

// SetShellPriority changes the priority of a shell in the queue.
func (c *Client) SetShellPriority(ctx context.Context, id string, priority int) error {
	_, err := post(ctx, c, v1.PrioritizeShell, v1.PriorityRequest{Priority: priority}, id)
	return err
}
