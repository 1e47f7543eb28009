package client

import (
	"context"

	"github.com/detent-ml/detent/master/v1"
)

// LaunchNotebook starts a notebook.
func (c *Client) LaunchNotebook(ctx context.Context, req v1.LaunchNotebookRequest) (*v1.LaunchNotebookResponse, error) {
	var out v1.LaunchNotebookResponse
	return &out, c.post(ctx, "/notebooks", req, &out)
}

// Notebooks lists them.
func (c *Client) Notebooks(ctx context.Context, query CommandQuery) ([]v1.Notebook, error) {
	var out v1.GetNotebooksResponse
	err := c.get(ctx, "/notebooks", query.values(), &out)
	return out.Notebooks, err
}

// Notebook reads one, with its configuration.
func (c *Client) Notebook(ctx context.Context, id string) (*v1.GetNotebookResponse, error) {
	var out v1.GetNotebookResponse
	return &out, c.get(ctx, taskPath("notebooks", id), nil, &out)
}

// KillNotebook ends a notebook now.
func (c *Client) KillNotebook(ctx context.Context, id string) error {
	return c.say(ctx, taskPath("notebooks", id)+"/kill")
}

// SetNotebookPriority changes a notebook's place in the queue.
func (c *Client) SetNotebookPriority(ctx context.Context, id string, priority int) error {
	return c.prioritize(ctx, taskPath("notebooks", id), priority)
}
