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
	out, err := Call(ctx, c, v1.GetModel, name)
	return &out.Model, err
}

// ArchiveModel archives a model, or takes it back.
func (c *Client) ArchiveModel(ctx context.Context, name string, archived bool) error {
	if archived {
		return Act(ctx, c, v1.ArchiveModel, name)
	}
	return Act(ctx, c, v1.UnarchiveModel, name)
}

// ModelVersions lists the versions of a model, the newest first.
func (c *Client) ModelVersions(ctx context.Context, name string, page Page) iter.Seq2[v1.ModelVersion, error] {
	request := v1.GetModelVersionsRequest{Order: v1.Order{SortBy: "SORT_BY_VERSION", OrderBy: "ORDER_BY_DESC"}}
	return list(ctx, c, v1.ListModelVersions, page, &request, func(r *v1.GetModelVersionsResponse) ([]v1.ModelVersion, v1.Pagination) {
		return r.ModelVersions, r.Pagination
	}, name)
}
