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

// EnableAgent enables a node.
func (c *Client) EnableAgent(ctx context.Context, id string) error {
	return act(ctx, c, v1.EnableAgent, id)
}

// DisableAgent disables a node: it gets no new tasks; with drain, its tasks run to their end.
func (c *Client) DisableAgent(ctx context.Context, id string, drain bool) error {
	_, err := post(ctx, c, v1.DisableAgent, v1.DisableRequest{Drain: drain}, id)
	return err
}

// EnableSlot enables a slot of a node. A slot of a second pool is written <pool>/<number>.
func (c *Client) EnableSlot(ctx context.Context, agent, slot string) error {
	if pool, number, ok := strings.Cut(slot, "/"); ok {
		return act(ctx, c, v1.EnablePoolSlot, agent, pool, number)
	}
	return act(ctx, c, v1.EnableSlot, agent, slot)
}

// DisableSlot disables a slot of a node: it gets no new tasks; with drain, its task runs to its
// end.
func (c *Client) DisableSlot(ctx context.Context, agent, slot string, drain bool) (err error) {
	req := v1.DisableRequest{Drain: drain}
	if pool, number, ok := strings.Cut(slot, "/"); ok {
		_, err = post(ctx, c, v1.DisablePoolSlot, req, agent, pool, number)
	} else {
		_, err = post(ctx, c, v1.DisableSlot, req, agent, slot)
	}
	return err
}

// MeasureNode returns what the devices of a node measure now.
func (c *Client) MeasureNode(ctx context.Context, node string) ([]v1.DeviceMeasurement, error) {
	out, err := get(ctx, c, v1.MeasureNode, nil, node)
	return out.Devices, err
}
