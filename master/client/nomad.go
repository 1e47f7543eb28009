package client

import "context"

// TrustNomad tells the master that an operator has looked, and that what Nomad
// lacks now is gone.
func (c *Client) TrustNomad(ctx context.Context) error { return c.say(ctx, "/detent/nomad/trust") }
