package client

import (
	"context"

	v1 "github.com/detent-ml/detent/master/v1"
)

// TrustNomad tells the master that an operator has checked Nomad's state, and that jobs missing
// in Nomad are lost.
func (c *Client) TrustNomad(ctx context.Context) error { return act(ctx, c, v1.TrustNomad) }

// Orphans lists the Nomad jobs with this cluster's id that have no row in the database.
func (c *Client) Orphans(ctx context.Context) (v1.GetOrphansResponse, error) {
	out, err := get(ctx, c, v1.ListOrphans, nil)
	return *out, err
}
