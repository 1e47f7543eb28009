package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/detent-ml/detent/master/v1"
)

// CommandQuery narrows a list of commands, notebooks, shells or TensorBoards. Zero
// fields do not.
type CommandQuery struct {
	Users       []string
	WorkspaceID int
}

func (query CommandQuery) values() url.Values {
	q := url.Values{}
	some(q, "users", query.Users)
	if query.WorkspaceID != 0 {
		q.Set("workspaceId", strconv.Itoa(query.WorkspaceID))
	}
	return q
}

func taskPath(noun, id string) string { return "/" + noun + "/" + url.PathEscape(id) }

// LaunchCommand starts a command.
func (c *Client) LaunchCommand(ctx context.Context, req v1.LaunchCommandRequest) (*v1.LaunchCommandResponse, error) {
	var out v1.LaunchCommandResponse
	return &out, c.post(ctx, "/commands", req, &out)
}

// Commands lists them.
func (c *Client) Commands(ctx context.Context, query CommandQuery) ([]v1.Command, error) {
	var out v1.GetCommandsResponse
	err := c.get(ctx, "/commands", query.values(), &out)
	return out.Commands, err
}

// Command reads one, with its configuration.
func (c *Client) Command(ctx context.Context, id string) (*v1.GetCommandResponse, error) {
	var out v1.GetCommandResponse
	return &out, c.get(ctx, taskPath("commands", id), nil, &out)
}

// KillCommand ends a command now.
func (c *Client) KillCommand(ctx context.Context, id string) error {
	return c.say(ctx, taskPath("commands", id)+"/kill")
}

// SetCommandPriority changes a command's place in the queue.
func (c *Client) SetCommandPriority(ctx context.Context, id string, priority int) error {
	return c.prioritize(ctx, taskPath("commands", id), priority)
}

func (c *Client) prioritize(ctx context.Context, path string, priority int) error {
	return c.do(ctx, call{
		method: http.MethodPost, path: path + "/set_priority", repeat: safely, in: setPriority{Priority: priority},
	}, nil)
}

type setPriority struct {
	Priority int `json:"priority"`
}
