package client

import (
	"context"

	v1 "github.com/detent-ml/detent/master/v1"
)

// TrustNomad tells the master that an operator has looked, and that what Nomad
// lacks now is gone.
func (c *Client) TrustNomad(ctx context.Context) error { return act(ctx, c, v1.TrustNomad) }

// Orphans lists the jobs in Nomad that carry this cluster's id and have no row in the
// database.
func (c *Client) Orphans(ctx context.Context) (v1.GetOrphansResponse, error) {
	out, err := get(ctx, c, v1.ListOrphans, nil)
	return *out, err
}
