package api

import (
	"cmp"
	"context"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/names"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

func (a *API) registerModels() {
	rest.Serve(a.router, v1.ListModels, a.listModels)
	rest.Serve(a.router, v1.ListModelLabels, a.modelLabels)
	rest.Serve(a.router, v1.CreateModel, a.createModel)
	rest.ServeOn(a.router, v1.GetModel, a.onModel(), a.model)
	rest.ServeOn(a.router, v1.ChangeModel, a.onModel(), a.patchModel)
	rest.ServeOn(a.router, v1.DeleteModel, a.onModel(), a.deleteModel)
	rest.ServeOn(a.router, v1.ArchiveModel, a.onModel(), a.archiveModel(true))
	rest.ServeOn(a.router, v1.UnarchiveModel, a.onModel(), a.archiveModel(false))
	rest.ServeOn(a.router, v1.MoveModel, a.onModel(), a.moveModel)
}

func wireModel(m store.Model) v1.Model {
	return v1.Model{ID: m.ID, Name: m.Name, Description: m.Description, Metadata: v1.Struct(m.Metadata), CreationTime: m.CreatedAt, LastUpdatedTime: m.ModifiedAt,
		NumVersions: m.Versions, Labels: m.Labels, Username: m.Owner, UserID: m.OwnerID, WorkspaceID: m.WorkspaceID, Archived: m.Archived, Notes: m.Notes}
}

func (a *API) listModels(ctx context.Context, c *rest.Call, req *v1.GetModelsRequest) (*v1.GetModelsResponse, error) {
	f, err := modelFilter(req)
	if err != nil {
		return nil, err
	}
	total, err := a.db.CountModels(ctx, c.Scope(), f)
	list, page, err := rest.Paged(req.Window, total, err, func(from, n int) ([]store.Model, error) { return a.db.Models(ctx, c.Scope(), f, from, n) })
	if err != nil {
		return nil, err
	}
	resp := &v1.GetModelsResponse{Pagination: page, Models: make([]v1.Model, len(list))}
	for i, m := range list {
		resp.Models[i] = wireModel(m)
	}
	return resp, nil
}

func modelFilter(req *v1.GetModelsRequest) (f store.ModelFilter, err error) {
	if err := store.CheckPatterns(req.Name, req.Description); err != nil {
		return f, err
	}
	f = store.ModelFilter{Labels: req.Labels, Users: req.Users, UserIDs: req.UserIDs, WorkspaceNames: req.WorkspaceNames, WorkspaceIDs: req.WorkspaceIDs,
		Name: req.Name, Description: req.Description, ID: req.ID, Archived: req.Archived}
	f.Sort, f.Desc, err = rest.Sorting(req.Order, map[string]string{"SORT_BY_NAME": "name", "SORT_BY_DESCRIPTION": "description", "SORT_BY_CREATION_TIME": "created",
		"SORT_BY_LAST_UPDATED_TIME": "modified", "SORT_BY_NUM_VERSIONS": "versions", "SORT_BY_WORKSPACE": "workspace"})
	return f, err
}

func (a *API) modelLabels(ctx context.Context, c *rest.Call, req *v1.GetModelLabelsRequest) (*v1.GetModelLabelsResponse, error) {
	labels, err := a.db.ModelLabels(ctx, c.Scope(), req.WorkspaceID)
	return &v1.GetModelLabelsResponse{Labels: labels}, err
}

func (a *API) model(_ context.Context, _ *rest.Call, m store.Model, _ *v1.None) (*v1.GetModelResponse, error) {
	return &v1.GetModelResponse{Model: wireModel(m)}, nil
}

// checkModelName refuses names that an address could not hold, or that look like a number.
func checkModelName(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return fault.New(fault.Invalid, "name: model names cannot be blank")
	case strings.Contains(name, "  "):
		return fault.New(fault.Invalid, "name: model names cannot have excessive spacing: there are two blanks in a row in %q", fault.Clip(name))
	case strings.ContainsAny(name, `/\`):
		return fault.New(fault.Invalid, "name: model names cannot have slashes: found one in %q", fault.Clip(name))
	case onlyDigits(name):
		return fault.New(fault.Invalid, "name: model names cannot be only numbers: %q would be read as the number of a model", fault.Clip(name))
	}
	return checkName("name", name, names.MaxUnique)
}

func onlyDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// checkTexts refuses texts, by the names of their fields, and metadata that are too long.
func checkTexts(metadata v1.Struct, texts map[string]string) error {
	for field, text := range texts {
		if err := checkText(field, text); err != nil {
			return err
		}
	}
	return checkText("metadata", string(metadata))
}

// modelWorkspace is the workspace that a request names by its number or, without one, by its
// name. The caller must be allowed to create models in it.
func (a *API) modelWorkspace(ctx context.Context, c *rest.Call, id *int, name *string) (int, error) {
	var found int
	switch {
	case id != nil && *id != 0:
		w, err := workspaces.Get(ctx, a.db.DB, *id)
		if err != nil {
			return 0, err
		}
		found = w.ID
	case name != nil && *name != "":
		list, err := workspaces.List(ctx, a.db.DB, auth.ScopeOf(c.Who(), auth.View, v1.KindWorkspace), workspaces.Filter{Exact: *name}, 0, 1)
		if err != nil {
			return 0, err
		}
		if len(list) == 0 {
			return 0, fault.New(fault.NotFound, "workspaceName: workspace %q not found", fault.Clip(*name))
		}
		found = list[0].ID
	default:
		return 0, nil
	}
	return found, c.May(auth.Create, auth.Object{Kind: v1.KindModel, WorkspaceID: found})
}

func (a *API) createModel(ctx context.Context, c *rest.Call, req *v1.PostModelRequest) (*v1.PostModelResponse, error) {
	workspace, err := a.modelWorkspace(ctx, c, req.WorkspaceID, req.WorkspaceName)
	if err == nil && workspace == 0 {
		workspace = workspaces.Default
		err = c.May(auth.Create, auth.Object{Kind: v1.KindModel, WorkspaceID: workspace})
	}
	if err != nil {
		return nil, err
	}
	labels, wrong := checkModelLabels(req.Labels)
	if err := cmp.Or(checkModelName(req.Name), wrong,
		checkTexts(req.Metadata, map[string]string{"description": req.Description, "notes": req.Notes})); err != nil {
		return nil, err
	}
	if err := a.db.AdmitStored(ctx, c.Who().UserID, 0); err != nil {
		return nil, err
	}
	m, err := a.db.CreateModel(ctx, store.Model{Name: req.Name, WorkspaceID: workspace, OwnerID: c.Who().UserID, Description: req.Description,
		Notes: req.Notes, Labels: labels, Metadata: []byte(req.Metadata)})
	if err != nil {
		return nil, err
	}
	return &v1.PostModelResponse{Model: wireModel(m)}, nil
}

// newLabels is checkModelLabels for a change; nil changes nothing.
func newLabels(labels *[]string) ([]string, error) {
	if labels == nil {
		return nil, nil
	}
	return checkModelLabels(*labels)
}

// checkModelLabels drops double labels and keeps their order, as Determined does.
func checkModelLabels(labels []string) ([]string, error) {
	seen, out := map[string]bool{}, []string{}
	for _, l := range labels {
		if !seen[l] {
			out = append(out, l)
		}
		seen[l] = true
	}
	return out, checkLabels(out)
}

func (a *API) patchModel(ctx context.Context, c *rest.Call, m store.Model, req *v1.PatchModel) (*v1.PatchModelResponse, error) {
	ch := store.ModelChange{Name: req.Name, Description: req.Description, Notes: req.Notes, Metadata: []byte(req.Metadata)}
	var err error
	if ch.Labels, err = newLabels(req.Labels); err != nil {
		return nil, err
	}
	if req.Name != nil {
		if err := checkModelName(*req.Name); err != nil {
			return nil, err
		}
	}
	if err := checkTexts(req.Metadata, given(map[string]*string{"description": req.Description, "notes": req.Notes})); err != nil {
		return nil, err
	}
	workspace, err := a.modelWorkspace(ctx, c, req.WorkspaceID, req.WorkspaceName)
	if err != nil {
		return nil, err
	}
	if workspace != 0 {
		ch.WorkspaceID = &workspace
	}
	if err := a.admitChange(ctx, c, m.OwnerID, len(req.Metadata)+sizeOf(req.Description, req.Notes, req.Name)); err != nil {
		return nil, err
	}
	if err := a.db.ChangeModel(ctx, m, ch); err != nil {
		return nil, err
	}
	m, err = a.db.Model(ctx, m.ID)
	return &v1.PatchModelResponse{Model: wireModel(m)}, err
}

// sizeOf is the length of the texts that a request gives.
func sizeOf(texts ...*string) (n int) {
	for _, text := range texts {
		n += len(optional.Value(text))
	}
	return n
}

// given has the texts that a request gives.
func given(texts map[string]*string) map[string]string {
	out := map[string]string{}
	for field, text := range texts {
		if text != nil {
			out[field] = *text
		}
	}
	return out
}

func (a *API) archiveModel(archived bool) func(context.Context, *rest.Call, store.Model, *v1.None) (*v1.None, error) {
	return func(ctx context.Context, _ *rest.Call, m store.Model, _ *v1.None) (*v1.None, error) {
		return &v1.None{}, a.db.ArchiveModel(ctx, m.ID, archived)
	}
}

func (a *API) moveModel(ctx context.Context, c *rest.Call, m store.Model, req *v1.MoveModelRequest) (*v1.None, error) {
	if req.DestinationWorkspaceID == 0 {
		return nil, fault.New(fault.Invalid, "destinationWorkspaceId: name the workspace that model %q moves to", m.Name)
	}
	workspace, err := a.modelWorkspace(ctx, c, &req.DestinationWorkspaceID, nil)
	if err != nil {
		return nil, err
	}
	return &v1.None{}, a.db.MoveModel(ctx, m.ID, workspace)
}

func (a *API) deleteModel(ctx context.Context, c *rest.Call, m store.Model, _ *v1.None) (*v1.None, error) {
	noteDone(c, map[string]any{"name": m.Name})
	return &v1.None{}, a.db.DeleteModel(ctx, m.ID)
}
