package api

import (
	"cmp"
	"context"
	"slices"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/names"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerModelVersions() {
	rest.ServeOn(a.router, v1.ListModelVersions, a.onModel(), a.listModelVersions)
	rest.ServeOn(a.router, v1.CreateModelVersion, a.onModel(), a.registerVersion)
	rest.ServeOn(a.router, v1.GetModelVersion, a.onModelVersion(), a.modelVersion)
	rest.ServeOn(a.router, v1.ChangeModelVersion, a.onModelVersion(), a.patchModelVersion)
	rest.ServeOn(a.router, v1.DeleteModelVersion, a.onVersionToDelete(), a.deleteModelVersion)
}

// wireVersion is a version as clients see it. Who may view the model may view the checkpoint.
func (a *API) wireVersion(m store.Model, v store.ModelVersion, k store.Checkpoint, who auth.Who) v1.ModelVersion {
	return v1.ModelVersion{ID: v.ID, Model: wireModel(m), Checkpoint: a.shownCheckpoint(k, who), Version: v.Version, CreationTime: v.CreatedAt, LastUpdatedTime: v.ModifiedAt,
		Name: v.Name, Metadata: v1.Struct(v.Metadata), Comment: v.Comment, Labels: v.Labels, Notes: v.Notes, Username: v.Owner, UserID: v.OwnerID}
}

// shownVersion reads a version of a model, as it is now.
func (a *API) shownVersion(ctx context.Context, c *rest.Call, model, version int) (v1.ModelVersion, error) {
	m, err := a.db.Model(ctx, model)
	if err != nil {
		return v1.ModelVersion{}, err
	}
	v, err := a.db.ModelVersion(ctx, m, version)
	if err != nil {
		return v1.ModelVersion{}, err
	}
	k, err := a.db.CheckpointByUUID(ctx, v.UUID)
	if err != nil {
		return v1.ModelVersion{}, err
	}
	return a.wireVersion(m, v, k, c.Who()), nil
}

func (a *API) listModelVersions(ctx context.Context, c *rest.Call, m store.Model, req *v1.GetModelVersionsRequest) (*v1.GetModelVersionsResponse, error) {
	sort, desc, err := rest.Sorting(req.Order, map[string]string{"SORT_BY_VERSION": "", "SORT_BY_CREATION_TIME": "created"})
	if err != nil {
		return nil, err
	}
	page, err := rest.Locate(req.Window, m.Versions)
	if err != nil {
		return nil, err
	}
	list, err := a.db.ModelVersions(ctx, m.ID, sort, desc, page.StartIndex, page.EndIndex-page.StartIndex)
	if err != nil {
		return nil, err
	}
	shown, err := a.wireVersions(ctx, c, m, list)
	page.EndIndex = page.StartIndex + len(shown)
	return &v1.GetModelVersionsResponse{Model: wireModel(m), ModelVersions: shown, Pagination: page}, err
}

// wireVersions shows the first versions of a list whose checkpoints fit into a page, at least one.
func (a *API) wireVersions(ctx context.Context, c *rest.Call, m store.Model, list []store.ModelVersion) ([]v1.ModelVersion, error) {
	ids := make([]string, 0, len(list))
	for _, v := range list {
		if !slices.Contains(ids, v.UUID) {
			ids = append(ids, v.UUID)
		}
	}
	checkpoints, err := a.db.WholeCheckpointsOf(ctx, ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]store.Checkpoint, len(checkpoints))
	for _, k := range checkpoints {
		byID[k.UUID] = k
	}
	out := make([]v1.ModelVersion, 0, len(list))
	for _, v := range list {
		k, fits := byID[v.UUID]
		if !fits {
			break
		}
		out = append(out, a.wireVersion(m, v, k, c.Who()))
	}
	return out, nil
}

func (a *API) modelVersion(ctx context.Context, c *rest.Call, v modelVersion, _ *v1.None) (*v1.GetModelVersionResponse, error) {
	k, err := a.db.CheckpointByUUID(ctx, v.UUID)
	if err != nil {
		return nil, err
	}
	return &v1.GetModelVersionResponse{ModelVersion: a.wireVersion(v.model, v.ModelVersion, k, c.Who())}, nil
}

// registerVersion registers a checkpoint that the caller may view. From then on everybody who
// may view the model may view and download the checkpoint, and its owner cannot remove it before
// the version is deleted, which its owner may do.
func (a *API) registerVersion(ctx context.Context, c *rest.Call, m store.Model, req *v1.PostModelVersionRequest) (*v1.PostModelVersionResponse, error) {
	k, err := a.checkpointOf(ctx, req.CheckpointUUID)
	if err == nil {
		err = c.May(auth.View, ofCheckpoint(k))
	}
	if err != nil {
		return nil, err
	}
	labels, err := checkModelLabels(req.Labels)
	if err := cmp.Or(err, checkVersionName(&req.Name),
		checkTexts(req.Metadata, map[string]string{"comment": req.Comment, "notes": req.Notes})); err != nil {
		return nil, err
	}
	if err := a.db.AdmitStored(ctx, c.Who().UserID, 0); err != nil {
		return nil, err
	}
	n, err := a.db.RegisterVersion(ctx, m, store.ModelVersion{UUID: k.UUID, OwnerID: c.Who().UserID, Name: req.Name, Comment: req.Comment,
		Notes: req.Notes, Labels: labels, Metadata: []byte(req.Metadata)})
	if err != nil {
		return nil, err
	}
	shown, err := a.shownVersion(ctx, c, m.ID, n)
	return &v1.PostModelVersionResponse{ModelVersion: shown}, err
}

// checkVersionName refuses a name that no list could show. A version needs no name.
func checkVersionName(name *string) error {
	if name == nil || *name == "" {
		return nil
	}
	return names.Check("name", *name, names.MaxText)
}

func (a *API) patchModelVersion(ctx context.Context, c *rest.Call, v modelVersion, req *v1.PatchModelVersion) (*v1.PatchModelVersionResponse, error) {
	labels, err := newLabels(req.Labels)
	if err := cmp.Or(err, checkVersionName(req.Name),
		checkTexts(req.Metadata, given(map[string]*string{"comment": req.Comment, "notes": req.Notes}))); err != nil {
		return nil, err
	}
	if err := a.admitChange(ctx, c, v.OwnerID, len(req.Metadata)+sizeOf(req.Comment, req.Notes, req.Name)); err != nil {
		return nil, err
	}
	if err := a.db.ChangeVersion(ctx, v.ID, store.VersionChange{Name: req.Name, Comment: req.Comment, Notes: req.Notes, Labels: labels, Metadata: []byte(req.Metadata)}); err != nil {
		return nil, err
	}
	shown, err := a.shownVersion(ctx, c, v.ModelID, v.Version)
	return &v1.PatchModelVersionResponse{ModelVersion: shown}, err
}

func (a *API) deleteModelVersion(ctx context.Context, _ *rest.Call, v modelVersion, _ *v1.None) (*v1.None, error) {
	return &v1.None{}, a.db.DeleteVersion(ctx, v.ID)
}
