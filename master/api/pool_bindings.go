package api

import (
	"context"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

// onPool finds the pool of a path.
func (a *API) onPool() rest.Object[*pool.Pool] {
	return rest.Object[*pool.Pool]{
		Load: func(_ context.Context, c *rest.Call) (*pool.Pool, error) {
			name := c.Param("pool")
			if p := a.cfg.Pools.Named(name); p != nil {
				return p, nil
			}
			return nil, fault.New(fault.NotFound, "resource pool %q not found", fault.Clip(name))
		},
		Of: func(*pool.Pool) auth.Object { return auth.Object{Kind: v1.KindPool} },
	}
}

// bound is what a request for bindings names.
func (a *API) bound(ctx context.Context, p *pool.Pool, req *v1.PoolBindings) ([]int, error) {
	if req.ResourcePoolName != "" && req.ResourcePoolName != p.Name {
		return nil, fault.New(fault.Invalid, "resourcePoolName: %q in the body is not %s, which the path names", fault.Clip(req.ResourcePoolName), p.Name)
	}
	ids := slices.Clone(req.WorkspaceIDs)
	for _, id := range ids {
		if _, err := a.db.Workspace(ctx, id); err != nil {
			return nil, err
		}
	}
	found, err := a.db.NamedWorkspaces(ctx, req.WorkspaceNames)
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
func (a *API) newlyBound(ctx context.Context, p *pool.Pool, req *v1.PoolBindings) ([]int, error) {
	if n := len(req.WorkspaceIDs) + len(req.WorkspaceNames); n > maxBindings {
		return nil, fault.New(fault.Invalid, "%d workspaces are over the limit of %d in one request", n, maxBindings)
	}
	ids, err := a.bound(ctx, p, req)
	if err == nil && len(ids) > 0 && (p.Compute || p.Aux) {
		err = defaultPoolBound(p)
	}
	return ids, err
}

func (a *API) bindPool(ctx context.Context, _ *rest.Call, p *pool.Pool, req *v1.PoolBindings) (*v1.None, error) {
	ids, err := a.newlyBound(ctx, p, req)
	if err == nil && len(ids) == 0 {
		err = fault.New(fault.Invalid, "name at least one workspace in workspaceNames or workspaceIds")
	}
	if err != nil {
		return nil, err
	}
	return a.rebound(a.db.BindPool(ctx, p.Name, ids))
}

func (a *API) unbindPool(ctx context.Context, _ *rest.Call, p *pool.Pool, req *v1.PoolBindings) (*v1.None, error) {
	ids, err := a.bound(ctx, p, req)
	if err != nil {
		return nil, err
	}
	return a.rebound(a.db.UnbindPool(ctx, p.Name, ids))
}

func (a *API) replaceBindings(ctx context.Context, _ *rest.Call, p *pool.Pool, req *v1.PoolBindings) (*v1.None, error) {
	ids, err := a.newlyBound(ctx, p, req)
	if err != nil {
		return nil, err
	}
	return a.rebound(a.db.ReplaceBindings(ctx, p.Name, ids))
}

// rebound wakes the loop after a change of bindings.
func (a *API) rebound(err error) (*v1.None, error) {
	if err != nil {
		return nil, err
	}
	a.bus.Publish(store.TopicIntent)
	return &v1.None{}, nil
}

func (a *API) poolWorkspaces(ctx context.Context, c *rest.Call, p *pool.Pool, req *v1.GetListRequest) (*v1.ListWorkspacesBoundToRPResponse, error) {
	list, err := a.db.WorkspacesOfPool(ctx, auth.ScopeOf(c.Who(), auth.View, v1.KindWorkspace), p.Name)
	if err != nil {
		return nil, err
	}
	list, page, err := rest.Cut(list, req.Window)
	return &v1.ListWorkspacesBoundToRPResponse{Pagination: &page, WorkspaceIDs: list}, err
}

// workspacePools lists the pools that a workspace may use: those that are bound to it, and those
// that are bound to none.
func (a *API) workspacePools(ctx context.Context, c *rest.Call, ws store.Workspace, req *v1.GetListRequest) (*v1.ListRPsBoundToWorkspaceResponse, error) {
	list, err := a.db.PoolBindings(ctx)
	if err != nil {
		return nil, err
	}
	bound, mine := map[string]bool{}, map[string]bool{}
	for _, b := range list {
		bound[b.Pool] = true
		mine[b.Pool] = mine[b.Pool] || b.WorkspaceID == ws.ID
	}
	var names []string
	for _, p := range a.cfg.Pools {
		if !bound[p.Name] || mine[p.Name] {
			names = append(names, p.Name)
		}
	}
	names, page, err := rest.Cut(names, req.Window)
	return &v1.ListRPsBoundToWorkspaceResponse{Pagination: &page, ResourcePools: names}, err
}

// poolOpen returns an error unless a workspace may use a pool.
func (a *API) poolOpen(ctx context.Context, name string, workspace int) error {
	ws, err := a.db.Workspace(ctx, workspace)
	if err != nil {
		return err
	}
	return a.poolOpenTo(ctx, name, ws)
}

func (a *API) poolOpenTo(ctx context.Context, name string, ws store.Workspace) error {
	may, err := a.db.PoolIsOpen(ctx, name, ws.ID)
	if err != nil || may {
		return err
	}
	return launch.NotOpen(name, ws.Name)
}

// inClosedPools adds to reasons why experiments cannot be activated those whose pool is not open to
// their workspace.
func (a *API) inClosedPools(ctx context.Context, ids []int, why map[int]error) (map[int]error, error) {
	list, err := a.db.ClosedExperiments(ctx, ids, 0, 0)
	for _, e := range list {
		if why == nil {
			why = map[int]error{}
		}
		if why[e.ID] == nil {
			why[e.ID] = fault.New(fault.Invalid, "experiment %d cannot be activated: pool %s is not open to its workspace, because it is bound to others; change its pool with det job update", e.ID, e.Pool)
		}
	}
	return why, err
}
