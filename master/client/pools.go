package client

import (
	"context"

	"github.com/detent-ml/detent/master/v1"
)

// ResourcePools lists the pools.
func (c *Client) ResourcePools(ctx context.Context) ([]v1.ResourcePool, error) {
	var out v1.GetResourcePoolsResponse
	err := c.get(ctx, "/resource-pools", nil, &out)
	return out.ResourcePools, err
}
