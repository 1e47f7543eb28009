package client

import (
	"context"
	"iter"

	v1 "github.com/detent-ml/detent/master/v1"
)

// ModelQuery narrows a list of models. Zero fields do not.
type ModelQuery struct {
	Page
	WorkspaceNames []string
	Labels         []string
	SortBy         string
	OrderBy        string
}

// Models lists models of the registry.
func (c *Client) Models(ctx context.Context, query ModelQuery) iter.Seq2[v1.Model, error] {
	request := v1.GetModelsRequest{WorkspaceNames: query.WorkspaceNames, Labels: query.Labels, Order: v1.Order{SortBy: query.SortBy, OrderBy: query.OrderBy}}
	return list(ctx, c, v1.ListModels, query.Page, &request, func(r *v1.GetModelsResponse) ([]v1.Model, v1.Pagination) { return r.Models, r.Pagination })
}

// Model reads a model by its name or its number.
func (c *Client) Model(ctx context.Context, name string) (*v1.Model, error) {
	out, err := get(ctx, c, v1.GetModel, nil, name)
	return &out.Model, err
}

// CreateModel creates a model with a new name.
func (c *Client) CreateModel(ctx context.Context, req v1.PostModelRequest) (*v1.Model, error) {
	out, err := post(ctx, c, v1.CreateModel, req)
	return &out.Model, err
}

// ChangeModel changes a model.
func (c *Client) ChangeModel(ctx context.Context, name string, ch v1.PatchModel) (*v1.Model, error) {
	out, err := post(ctx, c, v1.ChangeModel, ch, name)
	return &out.Model, err
}

// ArchiveModel archives a model, or takes it back.
func (c *Client) ArchiveModel(ctx context.Context, name string, archived bool) error {
	if archived {
		return act(ctx, c, v1.ArchiveModel, name)
	}
	return act(ctx, c, v1.UnarchiveModel, name)
}

// MoveModel moves a model to another workspace.
func (c *Client) MoveModel(ctx context.Context, name string, workspace int) error {
	_, err := post(ctx, c, v1.MoveModel, v1.MoveModelRequest{ModelName: name, DestinationWorkspaceID: workspace}, name)
	return err
}

// DeleteModel deletes a model with its versions; their checkpoints stay.
func (c *Client) DeleteModel(ctx context.Context, name string) error {
	return act(ctx, c, v1.DeleteModel, name)
}

// ModelVersions lists the versions of a model, the newest first.
func (c *Client) ModelVersions(ctx context.Context, name string, page Page) iter.Seq2[v1.ModelVersion, error] {
	request := v1.GetModelVersionsRequest{Order: v1.Order{SortBy: "SORT_BY_VERSION", OrderBy: "ORDER_BY_DESC"}}
	return list(ctx, c, v1.ListModelVersions, page, &request, func(r *v1.GetModelVersionsResponse) ([]v1.ModelVersion, v1.Pagination) {
		return r.ModelVersions, r.Pagination
	}, name)
}

// ModelVersion reads a version of a model.
func (c *Client) ModelVersion(ctx context.Context, name string, version int) (*v1.ModelVersion, error) {
	out, err := get(ctx, c, v1.GetModelVersion, nil, name, version)
	return &out.ModelVersion, err
}

// RegisterVersion registers a checkpoint as the next version of a model.
func (c *Client) RegisterVersion(ctx context.Context, name string, req v1.PostModelVersionRequest) (*v1.ModelVersion, error) {
	out, err := post(ctx, c, v1.CreateModelVersion, req, name)
	return &out.ModelVersion, err
}

// ChangeModelVersion changes a version of a model.
func (c *Client) ChangeModelVersion(ctx context.Context, name string, version int, ch v1.PatchModelVersion) (*v1.ModelVersion, error) {
	out, err := post(ctx, c, v1.ChangeModelVersion, ch, name, version)
	return &out.ModelVersion, err
}

// DeleteModelVersion deletes a version of a model; its checkpoint stays.
func (c *Client) DeleteModelVersion(ctx context.Context, name string, version int) error {
	return act(ctx, c, v1.DeleteModelVersion, name, version)
}
