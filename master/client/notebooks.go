package client

import (
	"context"

	v1 "github.com/detent-ml/detent/master/v1"
)

// LaunchNotebook starts a notebook.
func (c *Client) LaunchNotebook(ctx context.Context, req v1.LaunchNotebookRequest) (*v1.LaunchNotebookResponse, error) {
	return post(ctx, c, v1.CreateNotebook, req)
}

// Notebooks lists notebooks.
func (c *Client) Notebooks(ctx context.Context, request v1.GetCommandsRequest) ([]v1.Notebook, error) {
	out, err := get(ctx, c, v1.ListNotebooks, &request)
	return out.Notebooks, err
}

// Notebook returns one notebook, with its configuration.
func (c *Client) Notebook(ctx context.Context, id string) (*v1.GetNotebookResponse, error) {
	return get(ctx, c, v1.GetNotebook, nil, id)
}

// KillNotebook kills a notebook.
func (c *Client) KillNotebook(ctx context.Context, id string) error {
	return act(ctx, c, v1.KillNotebook, id)
}

// SetNotebookPriority changes the priority of a notebook in the queue.
func (c *Client) SetNotebookPriority(ctx context.Context, id string, priority int) error {
	_, err := post(ctx, c, v1.PrioritizeNotebook, v1.PriorityRequest{Priority: priority}, id)
	return err
}
