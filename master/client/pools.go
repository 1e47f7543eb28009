package client

import (
	"context"

	v1 "github.com/detent-ml/detent/master/v1"
)

// ResourcePools lists the pools.
func (c *Client) ResourcePools(ctx context.Context) ([]v1.ResourcePool, error) {
	out, err := get(ctx, c, v1.ListPools, nil)
	return out.ResourcePools, err
}
