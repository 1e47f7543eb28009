package client

import (
	"context"

	"github.com/detent-ml/detent/master/v1"
)

// Agents lists the nodes with their slots.
func (c *Client) Agents(ctx context.Context) ([]v1.Agent, error) {
	var out v1.GetAgentsResponse
	err := c.get(ctx, "/agents", nil, &out)
	return out.Agents, err
}
