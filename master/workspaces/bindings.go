package workspaces

import (
	"context"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// onPool finds the pool of a path.
func (d Deps) onPool() rest.Object[*pool.Pool] {
	return rest.Object[*pool.Pool]{
		Load: func(_ context.Context, c *rest.Call) (*pool.Pool, error) {
			name := c.Param("pool")
			if p := d.Pools.Named(name); p != nil {
				return p, nil
			}
			return nil, fault.New(fault.NotFound, "resource pool %q not found", fault.Clip(name))
		},
		Of: func(*pool.Pool) auth.Object { return auth.Object{Kind: v1.KindPool} },
	}
}

// bound is what a request for bindings names.
func (d Deps) bound(ctx context.Context, p *pool.Pool, req *v1.PoolBindings) ([]int, error) {
	if req.ResourcePoolName != "" && req.ResourcePoolName != p.Name {
		return nil, fault.New(fault.Invalid, "resourcePoolName: %q in the body is not %s, which the path names", fault.Clip(req.ResourcePoolName), p.Name)
	}
	ids := slices.Clone(req.WorkspaceIDs)
	for _, id := range ids {
		if _, err := Get(ctx, d.DB, id); err != nil {
			return nil, err
		}
	}
	found, err := Named(ctx, d.DB, req.WorkspaceNames)
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, name := range req.WorkspaceNames {
		if id, ok := found[name]; ok {
			ids = append(ids, id)
		} else {
			missing = append(missing, fault.Clip(name))
		}
	}
	if len(missing) > 0 {
		return nil, fault.New(fault.NotFound, "the following workspaces do not exist: %s", strings.Join(missing, ", "))
	}
	return ids, nil
}

// maxBindings is the maximum number of workspaces in a request.
const maxBindings = 1000

// newlyBound is bound, and rejects pools that are a default.
func (d Deps) newlyBound(ctx context.Context, p *pool.Pool, req *v1.PoolBindings) ([]int, error) {
	if n := len(req.WorkspaceIDs) + len(req.WorkspaceNames); n > maxBindings {
		return nil, fault.New(fault.Invalid, "%d workspaces are over the limit of %d in one request", n, maxBindings)
	}
	ids, err := d.bound(ctx, p, req)
	if err == nil && len(ids) > 0 && (p.Compute || p.Aux) {
		err = defaultPoolBound(p)
	}
	return ids, err
}

func (d Deps) bindPool(ctx context.Context, _ *rest.Call, p *pool.Pool, req *v1.PoolBindings) (*v1.None, error) {
	ids, err := d.newlyBound(ctx, p, req)
	if err == nil && len(ids) == 0 {
		err = fault.New(fault.Invalid, "name at least one workspace in workspaceNames or workspaceIds")
	}
	if err != nil {
		return nil, err
	}
	return rest.Done[v1.None](Bind(ctx, d.DB, p.Name, ids), d.BindingsChanged)
}

func (d Deps) unbindPool(ctx context.Context, _ *rest.Call, p *pool.Pool, req *v1.PoolBindings) (*v1.None, error) {
	ids, err := d.bound(ctx, p, req)
	if err != nil {
		return nil, err
	}
	return rest.Done[v1.None](Unbind(ctx, d.DB, p.Name, ids), d.BindingsChanged)
}

func (d Deps) replaceBindings(ctx context.Context, _ *rest.Call, p *pool.Pool, req *v1.PoolBindings) (*v1.None, error) {
	ids, err := d.newlyBound(ctx, p, req)
	if err != nil {
		return nil, err
	}
	return rest.Done[v1.None](ReplaceBindings(ctx, d.DB, p.Name, ids), d.BindingsChanged)
}

func (d Deps) poolWorkspaces(ctx context.Context, c *rest.Call, p *pool.Pool, req *v1.GetListRequest) (*v1.ListWorkspacesBoundToRPResponse, error) {
	list, err := OfPool(ctx, d.DB, auth.ScopeOf(c.Who(), auth.View, v1.KindWorkspace), p.Name)
	if err != nil {
		return nil, err
	}
	list, page, err := rest.Cut(list, req.Window)
	return &v1.ListWorkspacesBoundToRPResponse{Pagination: &page, WorkspaceIDs: list}, err
}

// workspacePools lists the pools that a workspace may use: those that are bound to it, and those
// that are bound to none.
func (d Deps) workspacePools(ctx context.Context, c *rest.Call, ws Workspace, req *v1.GetListRequest) (*v1.ListRPsBoundToWorkspaceResponse, error) {
	list, err := Bindings(ctx, d.DB)
	if err != nil {
		return nil, err
	}
	bound, mine := map[string]bool{}, map[string]bool{}
	for _, b := range list {
		bound[b.Pool] = true
		mine[b.Pool] = mine[b.Pool] || b.WorkspaceID == ws.ID
	}
	var names []string
	for _, p := range d.Pools {
		if !bound[p.Name] || mine[p.Name] {
			names = append(names, p.Name)
		}
	}
	names, page, err := rest.Cut(names, req.Window)
	return &v1.ListRPsBoundToWorkspaceResponse{Pagination: &page, ResourcePools: names}, err
}
