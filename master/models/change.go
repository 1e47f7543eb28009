package models

import (
	"cmp"
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/names"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

func wire(m Model) v1.Model {
	return v1.Model{ID: m.ID, Name: m.Name, Description: m.Description, Metadata: v1.Struct(m.Metadata), CreationTime: m.CreatedAt, LastUpdatedTime: m.ModifiedAt,
		NumVersions: m.Versions, Labels: m.Labels, Username: m.Owner, UserID: m.OwnerID, WorkspaceID: m.WorkspaceID, Archived: m.Archived, Notes: m.Notes}
}

func (d Deps) list(ctx context.Context, c *rest.Call, req *v1.GetModelsRequest) (*v1.GetModelsResponse, error) {
	f, err := filterOf(req)
	if err != nil {
		return nil, err
	}
	total, err := Count(ctx, d.DB, c.Scope(), f)
	list, page, err := rest.Paged(req.Window, total, err, func(from, n int) ([]Model, error) { return List(ctx, d.DB, c.Scope(), f, from, n) })
	if err != nil {
		return nil, err
	}
	return &v1.GetModelsResponse{Pagination: page, Models: each.Of(list, wire)}, nil
}

func filterOf(req *v1.GetModelsRequest) (f Filter, err error) {
	if err := cmp.Or(database.CheckPattern("name", req.Name), database.CheckPattern("description", req.Description)); err != nil {
		return f, err
	}
	f = Filter{Labels: req.Labels, Users: req.Users, UserIDs: req.UserIDs, WorkspaceNames: req.WorkspaceNames, WorkspaceIDs: req.WorkspaceIDs,
		Name: req.Name, Description: req.Description, ID: req.ID, Archived: req.Archived}
	f.Sort, f.Desc, err = rest.Sorting(req.Order, map[string]string{"SORT_BY_NAME": "name", "SORT_BY_DESCRIPTION": "description", "SORT_BY_CREATION_TIME": "created",
		"SORT_BY_LAST_UPDATED_TIME": "modified", "SORT_BY_NUM_VERSIONS": "versions", "SORT_BY_WORKSPACE": "workspace"})
	return f, err
}

func (d Deps) labels(ctx context.Context, c *rest.Call, req *v1.GetModelLabelsRequest) (*v1.GetModelLabelsResponse, error) {
	labels, err := Labels(ctx, d.DB, c.Scope(), req.WorkspaceID)
	return &v1.GetModelLabelsResponse{Labels: labels}, err
}

func (d Deps) get(_ context.Context, _ *rest.Call, m Model, _ *v1.None) (*v1.GetModelResponse, error) {
	return &v1.GetModelResponse{Model: wire(m)}, nil
}

// workspace is the workspace that a request names by its number or, without one, by its
// name; 0: none. The caller must be allowed to create models in it.
func (d Deps) workspace(ctx context.Context, c *rest.Call, id *int, name *string) (int, error) {
	found, err := d.Workspace(ctx, c, optional.Value(id), optional.Value(name))
	if err != nil || found == 0 {
		return 0, err
	}
	return found, c.May(auth.Create, auth.Object{Kind: v1.KindModel, WorkspaceID: found})
}

// into runs fn in a transaction that keeps a workspace from being archived or deleted; 0: none.
func (d Deps) into(ctx context.Context, workspace int, fn func(tx *database.DB) error) error {
	return d.DB.Tx(ctx, func(tx *database.DB) error {
		if workspace != 0 {
			if err := d.LockWorkspace(ctx, tx, workspace); err != nil {
				return err
			}
		}
		return fn(tx)
	})
}

func (d Deps) create(ctx context.Context, c *rest.Call, req *v1.PostModelRequest) (*v1.PostModelResponse, error) {
	workspace, err := d.workspace(ctx, c, req.WorkspaceID, req.WorkspaceName)
	if err == nil && workspace == 0 {
		workspace = d.DefaultWorkspace
		err = c.May(auth.Create, auth.Object{Kind: v1.KindModel, WorkspaceID: workspace})
	}
	if err != nil {
		return nil, err
	}
	labels, wrong := checkLabels(req.Labels)
	if err := cmp.Or(checkName(&req.Name), wrong,
		names.CheckTexts(map[string]*string{"description": &req.Description, "notes": &req.Notes}), names.CheckText("metadata", string(req.Metadata))); err != nil {
		return nil, err
	}
	if err := d.Admit(ctx, c.Who().UserID, 0); err != nil {
		return nil, err
	}
	m := Model{Name: req.Name, WorkspaceID: workspace, OwnerID: c.Who().UserID, Description: req.Description,
		Notes: req.Notes, Labels: labels, Metadata: []byte(req.Metadata)}
	err = d.into(ctx, workspace, func(tx *database.DB) (err error) {
		m.ID, err = insert(ctx, tx, m)
		return err
	})
	if err == nil {
		m, err = Get(ctx, d.DB, m.ID)
	}
	if err != nil {
		return nil, err
	}
	return &v1.PostModelResponse{Model: wire(m)}, nil
}

func (d Deps) change(ctx context.Context, c *rest.Call, m Model, req *v1.PatchModel) (*v1.PatchModelResponse, error) {
	labels, err := newLabels(req.Labels)
	if err := cmp.Or(err, checkName(req.Name),
		names.CheckTexts(map[string]*string{"description": req.Description, "notes": req.Notes}), names.CheckText("metadata", string(req.Metadata))); err != nil {
		return nil, err
	}
	workspace, err := d.workspace(ctx, c, req.WorkspaceID, req.WorkspaceName)
	if err != nil {
		return nil, err
	}
	if err := d.AdmitChange(ctx, c, m.OwnerID, len(req.Metadata)+optional.Length(req.Description, req.Notes, req.Name)); err != nil {
		return nil, err
	}
	ch := Change{Name: req.Name, Description: req.Description, Notes: req.Notes, Labels: labels, Metadata: []byte(req.Metadata), WorkspaceID: workspace}
	if workspace == m.WorkspaceID {
		workspace = 0 // the model stays where it is
	}
	if err := d.into(ctx, workspace, func(tx *database.DB) error { return update(ctx, tx, m, ch) }); err != nil {
		return nil, err
	}
	m, err = Get(ctx, d.DB, m.ID)
	return &v1.PatchModelResponse{Model: wire(m)}, err
}

func (d Deps) archive(archived bool) func(context.Context, *rest.Call, Model, *v1.None) (*v1.None, error) {
	return func(ctx context.Context, _ *rest.Call, m Model, _ *v1.None) (*v1.None, error) {
		return &v1.None{}, archive(ctx, d.DB, m.ID, archived)
	}
}

func (d Deps) move(ctx context.Context, c *rest.Call, m Model, req *v1.MoveModelRequest) (*v1.None, error) {
	if req.DestinationWorkspaceID == 0 {
		return nil, fault.New(fault.Invalid, "destinationWorkspaceId: name the workspace that model %q moves to", m.Name)
	}
	workspace, err := d.workspace(ctx, c, &req.DestinationWorkspaceID, nil)
	if err != nil {
		return nil, err
	}
	return &v1.None{}, d.into(ctx, workspace, func(tx *database.DB) error { return move(ctx, tx, m.ID, workspace) })
}

func (d Deps) remove(ctx context.Context, c *rest.Call, m Model, _ *v1.None) (*v1.None, error) {
	d.Note(c, map[string]any{"name": m.Name})
	return &v1.None{}, remove(ctx, d.DB, m.ID)
}
