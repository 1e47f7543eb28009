package client

import (
	"context"
	"strings"

	v1 "github.com/detent-ml/detent/master/v1"
)

// EnableSlot enables a slot of a node. A slot of a second pool is written <pool>/<number>.
func (c *Client) EnableSlot(ctx context.Context, agent, slot string) error {
	if pool, number, ok := strings.Cut(slot, "/"); ok {
		return Act(ctx, c, v1.EnablePoolSlot, agent, pool, number)
	}
	return Act(ctx, c, v1.EnableSlot, agent, slot)
}

// DisableSlot disables a slot of a node: it gets no new tasks; with drain, its task runs to its
// end.
func (c *Client) DisableSlot(ctx context.Context, agent, slot string, drain bool) (err error) {
	req := v1.DisableRequest{Drain: drain}
	if pool, number, ok := strings.Cut(slot, "/"); ok {
		_, err = Send(ctx, c, v1.DisablePoolSlot, req, agent, pool, number)
	} else {
		_, err = Send(ctx, c, v1.DisableSlot, req, agent, slot)
	}
	return err
}
