package client

import (
	"context"

	"github.com/detent-ml/detent/master/v1"
)

// LaunchShell starts a shell.
func (c *Client) LaunchShell(ctx context.Context, req v1.LaunchShellRequest) (*v1.LaunchShellResponse, error) {
	var out v1.LaunchShellResponse
	return &out, c.post(ctx, "/shells", req, &out)
}

// Shells lists them, without their private keys.
func (c *Client) Shells(ctx context.Context, query CommandQuery) ([]v1.Shell, error) {
	var out v1.GetShellsResponse
	err := c.get(ctx, "/shells", query.values(), &out)
	return out.Shells, err
}

// Shell reads one, with its configuration, and its private key if the caller may
// enter it.
func (c *Client) Shell(ctx context.Context, id string) (*v1.GetShellResponse, error) {
	var out v1.GetShellResponse
	return &out, c.get(ctx, taskPath("shells", id), nil, &out)
}

// KillShell ends a shell now.
func (c *Client) KillShell(ctx context.Context, id string) error {
	return c.say(ctx, taskPath("shells", id)+"/kill")
}

// SetShellPriority changes a shell's place in the queue.
func (c *Client) SetShellPriority(ctx context.Context, id string, priority int) error {
	return c.prioritize(ctx, taskPath("shells", id), priority)
}
