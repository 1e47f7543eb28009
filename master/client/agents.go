package client

import (
	"context"
	"strings"

	v1 "github.com/detent-ml/detent/master/v1"
)

// Agents lists the nodes with their slots.
func (c *Client) Agents(ctx context.Context) ([]v1.Agent, error) {
	out, err := get(ctx, c, v1.ListAgents, nil)
	return out.Agents, err
}

// EnableAgent lets a node take work again.
func (c *Client) EnableAgent(ctx context.Context, id string) error {
	return act(ctx, c, v1.EnableAgent, id)
}

// DisableAgent gives a node no new work; with drain, what runs there may run to its end.
func (c *Client) DisableAgent(ctx context.Context, id string, drain bool) error {
	_, err := post(ctx, c, v1.DisableAgent, v1.DisableRequest{Drain: drain}, id)
	return err
}

// EnableSlot lets a slot of a node take work again. A slot of a second pool is named by
// the pool and a number, with a slash between them.
func (c *Client) EnableSlot(ctx context.Context, agent, slot string) error {
	if pool, number, ok := strings.Cut(slot, "/"); ok {
		return act(ctx, c, v1.EnablePoolSlot, agent, pool, number)
	}
	return act(ctx, c, v1.EnableSlot, agent, slot)
}

// DisableSlot gives a slot of a node no new work; with drain, what runs there may run to its end.
func (c *Client) DisableSlot(ctx context.Context, agent, slot string, drain bool) (err error) {
	req := v1.DisableRequest{Drain: drain}
	if pool, number, ok := strings.Cut(slot, "/"); ok {
		_, err = post(ctx, c, v1.DisablePoolSlot, req, agent, pool, number)
	} else {
		_, err = post(ctx, c, v1.DisableSlot, req, agent, slot)
	}
	return err
}
