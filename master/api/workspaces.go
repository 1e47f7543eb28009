package api

import (
	"context"
	"encoding/json"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/audit"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/names"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerWorkspaces() {
	rest.Serve(a.router, v1.ListWorkspaces, a.listWorkspaces)
	rest.Serve(a.router, v1.CreateWorkspace, a.createWorkspace)
	rest.ServeOn(a.router, v1.GetWorkspace, a.onWorkspace(), a.workspace)
	rest.ServeOn(a.router, v1.ChangeWorkspace, a.onChangedWorkspace(), a.patchWorkspace)
	rest.ServeOn(a.router, v1.DeleteWorkspace, a.onWorkspace(), a.deleteWorkspace)
	rest.ServeOn(a.router, v1.ArchiveWorkspace, a.onWorkspace(), a.archiveWorkspace(true))
	rest.ServeOn(a.router, v1.UnarchiveWorkspace, a.onWorkspace(), a.archiveWorkspace(false))
	rest.ServeOn(a.router, v1.ListProjects, a.onWorkspaceOrAll(), a.listProjects)
	rest.ServeOn(a.router, v1.CreateProject, a.onWorkspace(), a.createProject)
}

func wireWorkspace(w store.Workspace, in store.WorkspaceContents) v1.Workspace {
	out := v1.Workspace{ID: w.ID, Name: w.Name, Archived: w.Archived, Immutable: w.Immutable, UserID: w.OwnerID,
		Username: w.Owner, NumProjects: in.Projects, NumExperiments: in.Experiments, State: deletionState(w.Deleting, w.DeleteError), ErrorMessage: w.DeleteError}
	var s store.WorkspaceSettings
	if json.Unmarshal(w.Settings, &s) == nil {
		out.DefaultComputePool, out.DefaultAuxPool = s.DefaultComputePool, s.DefaultAuxPool
		if shown, err := expconf.ShownStorage(s.CheckpointStorage); err == nil && len(shown) > 0 {
			out.CheckpointStorageConfig = v1.StructOf(shown)
		}
		if len(s.AgentUser) > 0 {
			out.AgentUserGroup = accounts.WireAgentUser(v1.StructOf(s.AgentUser))
		}
	}
	return out
}

// deletionState is the progress of the deletion of a workspace or project.
func deletionState(deleting bool, failed string) v1.WorkspaceState {
	switch {
	case deleting:
		return v1.WorkspaceStateDeleting
	case failed != "":
		return v1.WorkspaceStateDeleteFailed
	}
	return v1.WorkspaceStateUnspecified
}

func (a *API) listWorkspaces(ctx context.Context, c *rest.Call, req *v1.GetWorkspacesRequest) (*v1.GetWorkspacesResponse, error) {
	f := store.WorkspaceFilter{Users: req.Users, UserIDs: req.UserIDs, Name: req.Name, Exact: req.NameCaseSensitive, Archived: req.Archived, Pinned: req.Pinned, PinnedBy: c.Who().UserID}
	var err error
	if f.Sort, f.Desc, err = rest.Sorting(req.Order, map[string]string{"SORT_BY_ID": "", "SORT_BY_NAME": "name"}); err != nil {
		return nil, err
	}
	total, err := a.db.CountWorkspaces(ctx, c.Scope(), f)
	list, p, err := rest.Paged(req.Window, total, err, func(from, n int) ([]store.Workspace, error) { return a.db.Workspaces(ctx, c.Scope(), f, from, n) })
	if err != nil {
		return nil, err
	}
	resp := &v1.GetWorkspacesResponse{Pagination: p}
	resp.Workspaces, err = a.workspaceWires(ctx, c, list)
	return resp, err
}

func (a *API) workspace(ctx context.Context, c *rest.Call, w store.Workspace, _ *v1.None) (*v1.GetWorkspaceResponse, error) {
	wire, err := a.workspaceWire(ctx, c, w)
	return &v1.GetWorkspaceResponse{Workspace: wire}, err
}

// workspaceSettings checks the settings in a request, and omits those that are not set.
func (a *API) workspaceSettings(ctx context.Context, c *rest.Call, ws store.Workspace, compute, aux *string, storage v1.Struct, agent *v1.AgentUserGroup) ([]byte, error) {
	set := map[string]any{}
	for key, name := range map[string]*string{"default_compute_pool": compute, "default_aux_pool": aux} {
		if name == nil {
			continue
		}
		if *name != "" {
			if _, err := a.cfg.Pools.Find(*name); err != nil {
				return nil, err
			}
			if err := a.poolOpenTo(ctx, *name, ws); err != nil {
				return nil, err
			}
		}
		set[key] = *name
	}
	if len(storage) > 0 {
		m, err := storage.Map()
		if err != nil {
			return nil, fault.New(fault.Invalid, "checkpointStorageConfig: %v", err)
		}
		if len(m) == 0 {
			m = nil // an empty one removes the workspace's own
		} else if _, err := launch.ParseStorage(m); err != nil {
			return nil, fault.New(fault.Invalid, "checkpointStorageConfig: %w", err)
		}
		set["checkpoint_storage"] = m
	}
	if agent != nil {
		if err := c.May(auth.Administer, auth.Object{Kind: v1.KindWorkspace}); err != nil {
			return nil, err
		}
		b, err := accounts.PartOfAgentUser(agent)
		if err != nil {
			return nil, err
		}
		set["agent_user"] = json.RawMessage(b)
	}
	if len(set) == 0 {
		return nil, nil
	}
	return json.Marshal(set)
}

// mayName returns an error if only administrators may give this name to a workspace, or take it away:
// operators have offered secrets to the workspace of this name.
func (a *API) mayName(c *rest.Call, name string) error {
	if !a.cfg.Site.Secrets.Name(name) || auth.Can(c.Who(), auth.Administer, auth.Object{Kind: v1.KindCluster}) {
		return nil
	}
	return fault.New(fault.Forbidden, "name: tasks of the workspace %q may mount secrets (vault.secrets of the master's configuration), so only an admin may create or rename it", fault.Clip(name))
}

func (a *API) createWorkspace(ctx context.Context, c *rest.Call, req *v1.PostWorkspaceRequest) (*v1.PostWorkspaceResponse, error) {
	if err := names.Check("name", req.Name, names.MaxUnique); err != nil {
		return nil, err
	}
	if err := a.mayName(c, req.Name); err != nil {
		return nil, err
	}
	settings, err := a.workspaceSettings(ctx, c, store.Workspace{Name: req.Name}, req.DefaultComputePool, req.DefaultAuxPool, req.CheckpointStorageConfig, req.AgentUserGroup)
	if err != nil {
		return nil, err
	}
	if err := a.db.AdmitStored(ctx, c.Who().UserID, 0); err != nil {
		return nil, err
	}
	w, err := a.db.CreateWorkspace(ctx, req.Name, c.Who().UserID, settings)
	if err != nil {
		return nil, err
	}
	if a.db.Roles { // who creates a workspace is its WorkspaceAdmin
		a.auth.Forget(c.Who().UserID)
	}
	wire, err := a.workspaceWire(ctx, c, w)
	return &v1.PostWorkspaceResponse{Workspace: wire}, err
}

func (a *API) patchWorkspace(ctx context.Context, c *rest.Call, w store.Workspace, req *v1.PatchWorkspace) (*v1.PatchWorkspaceResponse, error) {
	if err := fixedWorkspace(w, cannotChange); err != nil {
		return nil, err
	}
	pools := req.DefaultComputePool != nil || req.DefaultComputeResourcePool != nil || req.DefaultAuxPool != nil || req.DefaultAuxResourcePool != nil
	more := differs(req.Name, w.Name) || req.CheckpointStorageConfig != nil || req.AgentUserGroup != nil
	if more || (pools || req.Name == nil) && !auth.SetsDefaultPools(c.Who(), ofWorkspace(w)) {
		if err := c.May(auth.Change, ofWorkspace(w)); err != nil {
			return nil, err
		}
	}
	if req.Name != nil {
		if err := names.Check("name", *req.Name, names.MaxUnique); err != nil {
			return nil, err
		}
		for _, name := range []string{w.Name, *req.Name} {
			if err := a.mayName(c, name); err != nil && *req.Name != w.Name {
				return nil, err
			}
		}
	}
	compute, aux := req.DefaultComputePool, req.DefaultAuxPool
	if compute == nil {
		compute = req.DefaultComputeResourcePool
	}
	if aux == nil {
		aux = req.DefaultAuxResourcePool
	}
	settings, err := a.workspaceSettings(ctx, c, w, compute, aux, req.CheckpointStorageConfig, req.AgentUserGroup)
	if err != nil {
		return nil, err
	}
	if err := a.db.ChangeWorkspace(ctx, w.ID, req.Name, settings); err != nil {
		return nil, err
	}
	if w, err = a.db.Workspace(ctx, w.ID); err != nil {
		return nil, err
	}
	wire, err := a.workspaceWire(ctx, c, w)
	return &v1.PatchWorkspaceResponse{Workspace: wire}, err
}

func (a *API) archiveWorkspace(archived bool) func(context.Context, *rest.Call, store.Workspace, *v1.None) (*v1.Empty, error) {
	return func(ctx context.Context, c *rest.Call, w store.Workspace, _ *v1.None) (*v1.Empty, error) {
		return &v1.Empty{}, a.db.ArchiveWorkspace(ctx, w.ID, archived)
	}
}

func (a *API) deleteWorkspace(ctx context.Context, c *rest.Call, w store.Workspace, _ *v1.None) (*v1.DeleteWorkspaceResponse, error) {
	audit.Note(c, map[string]any{"name": w.Name})
	done, err := a.db.DeleteWorkspace(ctx, w.ID)
	return &v1.DeleteWorkspaceResponse{Completed: done}, err
}
