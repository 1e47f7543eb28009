package client

import (
	"context"
	"iter"

	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// WorkspaceQuery filters a list of workspaces. Zero fields have no effect.
type WorkspaceQuery struct {
	Page
	Name    string // exactly
	SortBy  string
	OrderBy string
}

// Workspaces lists workspaces.
func (c *Client) Workspaces(ctx context.Context, query WorkspaceQuery) iter.Seq2[v1.Workspace, error] {
	request := v1.GetWorkspacesRequest{NameCaseSensitive: query.Name, Order: v1.Order{SortBy: query.SortBy, OrderBy: query.OrderBy}}
	return list(ctx, c, v1.ListWorkspaces, query.Page, &request, func(r *v1.GetWorkspacesResponse) ([]v1.Workspace, v1.Pagination) {
		return r.Workspaces, r.Pagination
	})
}

// WorkspaceByName finds a workspace.
func (c *Client) WorkspaceByName(ctx context.Context, name string) (*v1.Workspace, error) {
	for w, err := range c.Workspaces(ctx, WorkspaceQuery{Name: name}) {
		if err != nil {
			return nil, err
		}
		if w.Name == name {
			return &w, nil
		}
	}
	return nil, fault.New(fault.NotFound, "there is no workspace named %q", name)
}

// ArchiveWorkspace archives or unarchives a workspace.
func (c *Client) ArchiveWorkspace(ctx context.Context, id int, archived bool) error {
	if archived {
		return Act(ctx, c, v1.ArchiveWorkspace, id)
	}
	return Act(ctx, c, v1.UnarchiveWorkspace, id)
}
