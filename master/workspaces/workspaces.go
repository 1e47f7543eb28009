// Package workspaces is the room of workspaces: what holds experiments and tasks, and what their owners decide for all of them.
//
// A workspace has projects, and a project has experiments. A workspace also has the defaults of its configurations (Settings), templates over
// which configurations are merged, config policies that limit them, and pools: a pool that is bound to workspaces is open to these
// alone. Users pin workspaces, and the master remembers which projects they visited. The files, in the order in which one reads them:
//
//	object.go          what paths name, and who may do what with it (package auth decides)
//	fixed.go           what nobody may change: what is built in or archived, and the pools that are a default
//	routes.go          the endpoints, and what they use of others
//	workspaces.go      list, create, change, archive, delete and pin workspaces
//	projects.go        the same for projects, with their keys and notes, and the projects that a user visited
//	templates.go       templates
//	policies.go        read and set config policies, of workspaces and of the cluster
//	bindings.go        bind pools to workspaces
//	rows_*.go          the rows of each; rows.go also counts what workspaces and projects contain
//
// The rows are functions over database.DB, because others read them in their own transactions. Lock keeps a workspace as it is while
// something comes into it. This room is above accounts and below experiments, tasks and models, which it does not import: Deps has what it asks of them.
// Package launch applies templates, policies and bindings to requests. The deletion of a workspace or a project is that of the
// experiments in it, and moves are of experiments: both are in package experiments (rows_deletions.go, rows_move.go).
package workspaces

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/names"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (d Deps) wire(w Workspace, in contents) v1.Workspace {
	out := v1.Workspace{ID: w.ID, Name: w.Name, Archived: w.Archived, Immutable: w.Immutable, UserID: w.OwnerID,
		Username: w.Owner, NumProjects: in.Projects, NumExperiments: in.Experiments, State: deletionState(w.Deleting, w.DeleteError), ErrorMessage: w.DeleteError}
	var s Settings
	if json.Unmarshal(w.Settings, &s) == nil {
		out.DefaultComputePool, out.DefaultAuxPool = s.DefaultComputePool, s.DefaultAuxPool
		if shown, err := expconf.ShownStorage(s.CheckpointStorage); err == nil && len(shown) > 0 {
			out.CheckpointStorageConfig = v1.StructOf(shown)
		}
		if len(s.AgentUser) > 0 {
			out.AgentUserGroup = d.AgentUser(v1.StructOf(s.AgentUser))
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

func (d Deps) listWorkspaces(ctx context.Context, c *rest.Call, req *v1.GetWorkspacesRequest) (*v1.GetWorkspacesResponse, error) {
	f := Filter{Users: req.Users, UserIDs: req.UserIDs, Name: req.Name, Exact: req.NameCaseSensitive, Archived: req.Archived, Pinned: req.Pinned, PinnedBy: c.Who().UserID}
	var err error
	if f.Sort, f.Desc, err = rest.Sorting(req.Order, map[string]string{"SORT_BY_ID": "", "SORT_BY_NAME": "name"}); err != nil {
		return nil, err
	}
	total, err := Count(ctx, d.DB, c.Scope(), f)
	list, p, err := rest.Paged(req.Window, total, err, func(from, n int) ([]Workspace, error) {
		return List(ctx, d.DB, c.Scope(), f, from, n)
	})
	if err != nil {
		return nil, err
	}
	resp := &v1.GetWorkspacesResponse{Pagination: p}
	resp.Workspaces, err = d.workspaceWires(ctx, c, list)
	return resp, err
}

func (d Deps) workspace(ctx context.Context, c *rest.Call, w Workspace, _ *v1.None) (*v1.GetWorkspaceResponse, error) {
	wire, err := d.workspaceWire(ctx, c, w)
	return &v1.GetWorkspaceResponse{Workspace: wire}, err
}

// workspaceSettings checks the settings in a request, and omits those that are not set.
func (d Deps) workspaceSettings(ctx context.Context, c *rest.Call, ws Workspace, compute, aux *string, storage v1.Struct, agent *v1.AgentUserGroup) ([]byte, error) {
	set := map[string]any{}
	for key, name := range map[string]*string{"default_compute_pool": compute, "default_aux_pool": aux} {
		if name == nil {
			continue
		}
		if *name != "" {
			if _, err := d.Pools.Find(*name); err != nil {
				return nil, err
			}
			if err := Open(ctx, d.DB, *name, ws); err != nil {
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
		} else if _, err := expconf.ParseStorage(m); err != nil {
			return nil, fault.New(fault.Invalid, "checkpointStorageConfig: %w", err)
		}
		set["checkpoint_storage"] = m
	}
	if agent != nil {
		if err := c.May(auth.Administer, auth.Object{Kind: v1.KindWorkspace}); err != nil {
			return nil, err
		}
		b, err := d.StoreAgentUser(agent)
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
func (d Deps) mayName(c *rest.Call, name string) error {
	if !d.MountSecrets(name) || auth.Can(c.Who(), auth.Administer, auth.Object{Kind: v1.KindCluster}) {
		return nil
	}
	return fault.New(fault.Forbidden, "name: tasks of the workspace %q may mount secrets (vault.secrets of the master's configuration), so only an admin may create or rename it", fault.Clip(name))
}

func (d Deps) createWorkspace(ctx context.Context, c *rest.Call, req *v1.PostWorkspaceRequest) (*v1.PostWorkspaceResponse, error) {
	if err := names.Check("name", req.Name, names.MaxUnique); err != nil {
		return nil, err
	}
	if err := d.mayName(c, req.Name); err != nil {
		return nil, err
	}
	settings, err := d.workspaceSettings(ctx, c, Workspace{Name: req.Name}, req.DefaultComputePool, req.DefaultAuxPool, req.CheckpointStorageConfig, req.AgentUserGroup)
	if err != nil {
		return nil, err
	}
	w, err := d.storeNew(ctx, c, req.Name, settings)
	if err != nil {
		return nil, err
	}
	wire, err := d.workspaceWire(ctx, c, w)
	return &v1.PostWorkspaceResponse{Workspace: wire}, err
}

// storeNew creates a workspace of the caller.
func (d Deps) storeNew(ctx context.Context, c *rest.Call, name string, settings []byte) (Workspace, error) {
	if err := d.Admit(ctx, c.Who().UserID, 0); err != nil {
		return Workspace{}, err
	}
	w, err := Create(ctx, d.DB, d.Roles, name, c.Who().UserID, settings)
	if err == nil && bool(d.Roles) { // who creates a workspace is its WorkspaceAdmin
		d.RolesChanged(c.Who().UserID)
	}
	return w, err
}

// New creates a workspace of the caller without settings, if the caller may.
func (d Deps) New(ctx context.Context, c *rest.Call, name string) (Workspace, error) {
	if err := c.May(auth.Create, auth.Object{Kind: v1.KindWorkspace}); err != nil {
		return Workspace{}, err
	}
	return d.storeNew(ctx, c, name, nil)
}

func (d Deps) patchWorkspace(ctx context.Context, c *rest.Call, w Workspace, req *v1.PatchWorkspace) (*v1.PatchWorkspaceResponse, error) {
	if err := w.fixed(); err != nil {
		return nil, err
	}
	compute, aux := cmp.Or(req.DefaultComputePool, req.DefaultComputeResourcePool), cmp.Or(req.DefaultAuxPool, req.DefaultAuxResourcePool)
	more := differs(req.Name, w.Name) || req.CheckpointStorageConfig != nil || req.AgentUserGroup != nil
	if more || (compute != nil || aux != nil || req.Name == nil) && !auth.SetsDefaultPools(c.Who(), w.Object()) {
		if err := c.May(auth.Change, w.Object()); err != nil {
			return nil, err
		}
	}
	if req.Name != nil {
		if err := names.Check("name", *req.Name, names.MaxUnique); err != nil {
			return nil, err
		}
		for _, name := range []string{w.Name, *req.Name} {
			if err := d.mayName(c, name); err != nil && *req.Name != w.Name {
				return nil, err
			}
		}
	}
	settings, err := d.workspaceSettings(ctx, c, w, compute, aux, req.CheckpointStorageConfig, req.AgentUserGroup)
	if err != nil {
		return nil, err
	}
	if err := Change(ctx, d.DB, w.ID, req.Name, settings); err != nil {
		return nil, err
	}
	if w, err = Get(ctx, d.DB, w.ID); err != nil {
		return nil, err
	}
	wire, err := d.workspaceWire(ctx, c, w)
	return &v1.PatchWorkspaceResponse{Workspace: wire}, err
}

func (d Deps) archiveWorkspace(archived bool) func(context.Context, *rest.Call, Workspace, *v1.None) (*v1.Empty, error) {
	return func(ctx context.Context, c *rest.Call, w Workspace, _ *v1.None) (*v1.Empty, error) {
		return &v1.Empty{}, Archive(ctx, d.DB, w.ID, archived)
	}
}

func (d Deps) deleteWorkspace(ctx context.Context, c *rest.Call, w Workspace, _ *v1.None) (*v1.DeleteWorkspaceResponse, error) {
	d.Note(c, map[string]any{"name": w.Name})
	done, err := d.Delete(ctx, w.ID)
	return &v1.DeleteWorkspaceResponse{Completed: done}, err
}

func (d Deps) pin(change func(ctx context.Context, db *database.DB, user, workspace int) error) func(context.Context, *rest.Call, Workspace, *v1.None) (*v1.Empty, error) {
	return func(ctx context.Context, c *rest.Call, w Workspace, _ *v1.None) (*v1.Empty, error) {
		return &v1.Empty{}, change(ctx, d.DB, c.Who().UserID, w.ID)
	}
}

// workspaceWires are workspaces as the caller sees them, with the caller's pins and the counts of what
// they contain.
func (d Deps) workspaceWires(ctx context.Context, c *rest.Call, list []Workspace) ([]v1.Workspace, error) {
	pins, err := Pins(ctx, d.DB, c.Who().UserID)
	if err != nil {
		return nil, err
	}
	ids := each.Of(list, func(w Workspace) int { return w.ID })
	contents, err := contentsOf(ctx, d.DB, ids)
	if err != nil {
		return nil, err
	}
	var out []v1.Workspace
	for _, w := range list {
		wire := d.wire(w, contents[w.ID])
		if at, ok := pins[w.ID]; ok {
			wire.Pinned, wire.PinnedAt = true, &at
		}
		out = append(out, wire)
	}
	return out, nil
}

func (d Deps) workspaceWire(ctx context.Context, c *rest.Call, w Workspace) (v1.Workspace, error) {
	list, err := d.workspaceWires(ctx, c, []Workspace{w})
	if err != nil {
		return v1.Workspace{}, err
	}
	return list[0], nil
}
