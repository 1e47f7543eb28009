package client

import (
	"context"

	"github.com/detent-ml/detent/master/v1"
)

// TrustNomad tells the master that an operator has looked, and that what Nomad
// lacks now is gone.
func (c *Client) TrustNomad(ctx context.Context) error { return c.say(ctx, "/detent/nomad/trust") }

// Orphans lists the jobs in Nomad that carry this cluster's id and have no row in the
// database.
func (c *Client) Orphans(ctx context.Context) (v1.GetOrphansResponse, error) {
	var out v1.GetOrphansResponse
	err := c.get(ctx, "/detent/nomad/orphans", nil, &out)
	return out, err
}
