package models

import (
	"cmp"
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/names"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// wireVersion is a version as clients see it. Who may view the model may view the checkpoint.
func wireVersion(m Model, v Version, k v1.Checkpoint) v1.ModelVersion {
	return v1.ModelVersion{ID: v.ID, Model: wire(m), Checkpoint: k, Version: v.Number, CreationTime: v.CreatedAt, LastUpdatedTime: v.ModifiedAt,
		Name: v.Name, Metadata: v1.Struct(v.Metadata), Comment: v.Comment, Labels: v.Labels, Notes: v.Notes, Username: v.Owner, UserID: v.OwnerID}
}

// show shows a version with its checkpoint.
func (d Deps) show(ctx context.Context, c *rest.Call, m Model, v Version) (v1.ModelVersion, error) {
	k, err := d.Checkpoint(ctx, c.Who(), v.UUID)
	return wireVersion(m, v, k), err
}

// shownVersion reads a version of a model, as it is now.
func (d Deps) shownVersion(ctx context.Context, c *rest.Call, model, version int) (v1.ModelVersion, error) {
	m, err := Get(ctx, d.DB, model)
	if err != nil {
		return v1.ModelVersion{}, err
	}
	v, err := VersionByNumber(ctx, d.DB, m, version)
	if err != nil {
		return v1.ModelVersion{}, err
	}
	return d.show(ctx, c, m, v)
}

func (d Deps) listVersions(ctx context.Context, c *rest.Call, m Model, req *v1.GetModelVersionsRequest) (*v1.GetModelVersionsResponse, error) {
	sort, desc, err := rest.Sorting(req.Order, map[string]string{"SORT_BY_VERSION": "", "SORT_BY_CREATION_TIME": "created"})
	if err != nil {
		return nil, err
	}
	page, err := rest.Locate(req.Window, m.Versions)
	if err != nil {
		return nil, err
	}
	list, err := versionsOf(ctx, d.DB, m.ID, sort, desc, page.StartIndex, page.EndIndex-page.StartIndex)
	if err != nil {
		return nil, err
	}
	shown, err := d.wireVersions(ctx, c, m, list)
	page.EndIndex = page.StartIndex + len(shown)
	return &v1.GetModelVersionsResponse{Model: wire(m), ModelVersions: shown, Pagination: page}, err
}

// wireVersions shows the first versions of a list whose checkpoints fit into a page, at least one.
func (d Deps) wireVersions(ctx context.Context, c *rest.Call, m Model, list []Version) ([]v1.ModelVersion, error) {
	ids := rest.Distinct(each.Of(list, func(v Version) string { return v.UUID }))
	byID, err := d.Checkpoints(ctx, c.Who(), ids)
	if err != nil {
		return nil, err
	}
	out := make([]v1.ModelVersion, 0, len(list))
	for _, v := range list {
		k, fits := byID[v.UUID]
		if !fits {
			break
		}
		out = append(out, wireVersion(m, v, k))
	}
	return out, nil
}

func (d Deps) version(ctx context.Context, c *rest.Call, v Registration, _ *v1.None) (*v1.GetModelVersionResponse, error) {
	shown, err := d.show(ctx, c, v.Model, v.Version)
	return &v1.GetModelVersionResponse{ModelVersion: shown}, err
}

// registerVersion registers a checkpoint that the caller may view. From then on everybody who
// may view the model may view and download the checkpoint, and its owner cannot remove it before
// the version is deleted, which its owner may do.
func (d Deps) registerVersion(ctx context.Context, c *rest.Call, m Model, req *v1.PostModelVersionRequest) (*v1.PostModelVersionResponse, error) {
	id, is, err := d.CheckpointOf(ctx, req.CheckpointUUID)
	if err == nil {
		err = c.May(auth.View, is)
	}
	if err != nil {
		return nil, err
	}
	labels, err := checkLabels(req.Labels)
	if err := cmp.Or(err, checkVersionName(&req.Name),
		names.CheckTexts(map[string]*string{"comment": &req.Comment, "notes": &req.Notes}), names.CheckText("metadata", string(req.Metadata))); err != nil {
		return nil, err
	}
	if err := d.Admit(ctx, c.Who().UserID, 0); err != nil {
		return nil, err
	}
	n, err := register(ctx, d.DB, m, Version{UUID: id, OwnerID: c.Who().UserID, Name: req.Name, Comment: req.Comment,
		Notes: req.Notes, Labels: labels, Metadata: []byte(req.Metadata)}, nil)
	if err != nil {
		return nil, err
	}
	shown, err := d.shownVersion(ctx, c, m.ID, n)
	return &v1.PostModelVersionResponse{ModelVersion: shown}, err
}

func (d Deps) changeVersion(ctx context.Context, c *rest.Call, v Registration, req *v1.PatchModelVersion) (*v1.PatchModelVersionResponse, error) {
	labels, err := newLabels(req.Labels)
	if err := cmp.Or(err, checkVersionName(req.Name),
		names.CheckTexts(map[string]*string{"comment": req.Comment, "notes": req.Notes}), names.CheckText("metadata", string(req.Metadata))); err != nil {
		return nil, err
	}
	if err := d.AdmitChange(ctx, c, v.Version.OwnerID, len(req.Metadata)+optional.Length(req.Comment, req.Notes, req.Name)); err != nil {
		return nil, err
	}
	if err := updateVersion(ctx, d.DB, v.Version.ID, VersionChange{Name: req.Name, Comment: req.Comment, Notes: req.Notes, Labels: labels, Metadata: []byte(req.Metadata)}); err != nil {
		return nil, err
	}
	shown, err := d.shownVersion(ctx, c, v.Model.ID, v.Version.Number)
	return &v1.PatchModelVersionResponse{ModelVersion: shown}, err
}

func (d Deps) deleteVersion(ctx context.Context, _ *rest.Call, v Registration, _ *v1.None) (*v1.None, error) {
	return &v1.None{}, removeVersion(ctx, d.DB, v.Version.ID)
}
