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

// PoolWorkspaces lists the ids of the workspaces to which a pool is bound.
func (c *Client) PoolWorkspaces(ctx context.Context, pool string) ([]int, error) {
	out, err := get(ctx, c, v1.ListPoolWorkspaces, nil, pool)
	return out.WorkspaceIDs, err
}

// WorkspacePools lists the names of the pools that a workspace may use.
func (c *Client) WorkspacePools(ctx context.Context, workspace int) ([]string, error) {
	out, err := get(ctx, c, v1.ListWorkspacePools, nil, workspace)
	return out.ResourcePools, err
}

// BindPool binds a pool to more workspaces.
func (c *Client) BindPool(ctx context.Context, pool string, workspaces []string) error {
	return c.bindings(ctx, v1.BindPool, pool, workspaces)
}

// UnbindPool removes bindings of a pool.
func (c *Client) UnbindPool(ctx context.Context, pool string, workspaces []string) error {
	return c.bindings(ctx, v1.UnbindPool, pool, workspaces)
}

// ReplaceBindings binds a pool to exactly these workspaces.
func (c *Client) ReplaceBindings(ctx context.Context, pool string, workspaces []string) error {
	return c.bindings(ctx, v1.ReplacePoolBindings, pool, workspaces)
}

func (c *Client) bindings(ctx context.Context, e v1.Endpoint[v1.PoolBindings, v1.None], pool string, workspaces []string) error {
	_, err := post(ctx, c, e, v1.PoolBindings{ResourcePoolName: pool, WorkspaceNames: workspaces}, pool)
	return err
}
