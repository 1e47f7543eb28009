package client

import (
	"context"
	"net/url"
	"strings"

	"github.com/detent-ml/detent/master/v1"
)

// Agents lists the nodes with their slots.
func (c *Client) Agents(ctx context.Context) ([]v1.Agent, error) {
	var out v1.GetAgentsResponse
	err := c.get(ctx, "/agents", nil, &out)
	return out.Agents, err
}

// EnableAgent lets a node take work again.
func (c *Client) EnableAgent(ctx context.Context, id string) error {
	return c.say(ctx, agentPath(id)+"/enable")
}

// DisableAgent gives a node no new work; with drain, what runs there may run to its end.
func (c *Client) DisableAgent(ctx context.Context, id string, drain bool) error {
	return c.post(ctx, agentPath(id)+"/disable", map[string]bool{"drain": drain}, nil)
}

// EnableSlot lets a slot of a node take work again.
func (c *Client) EnableSlot(ctx context.Context, agent, slot string) error {
	return c.say(ctx, slotPath(agent, slot)+"/enable")
}

// DisableSlot gives a slot of a node no new work; with drain, what runs there may run to its end.
func (c *Client) DisableSlot(ctx context.Context, agent, slot string, drain bool) error {
	return c.post(ctx, slotPath(agent, slot)+"/disable", map[string]bool{"drain": drain}, nil)
}

func agentPath(id string) string { return "/agents/" + url.PathEscape(id) }

// slotPath: a slot of a second pool is named by the pool and a number.
func slotPath(agent, slot string) string {
	path := agentPath(agent) + "/slots"
	for part := range strings.SplitSeq(slot, "/") {
		path += "/" + url.PathEscape(part)
	}
	return path
}
