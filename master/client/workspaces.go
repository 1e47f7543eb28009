package client

import (
	"context"
	"iter"
	"net/url"
	"strconv"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
)

// WorkspaceQuery narrows a list of workspaces. Zero fields do not.
type WorkspaceQuery struct {
	Page
	Name    string // exactly
	SortBy  string
	OrderBy string
}

func workspacePath(id int) string { return "/workspaces/" + strconv.Itoa(id) }

// Workspaces lists them.
func (c *Client) Workspaces(ctx context.Context, query WorkspaceQuery) iter.Seq2[v1.Workspace, error] {
	return pages(ctx, query.Page, func(ctx context.Context, p Page) ([]v1.Workspace, v1.Pagination, error) {
		q := url.Values{}
		one(q, "nameCaseSensitive", query.Name)
		one(q, "sortBy", query.SortBy)
		one(q, "orderBy", query.OrderBy)
		p.set(q)
		var out v1.GetWorkspacesResponse
		err := c.get(ctx, "/workspaces", q, &out)
		return out.Workspaces, out.Pagination, err
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

// CreateWorkspace makes one.
func (c *Client) CreateWorkspace(ctx context.Context, req v1.PostWorkspaceRequest) (*v1.Workspace, error) {
	var out v1.PostWorkspaceResponse
	if err := c.post(ctx, "/workspaces", req, &out); err != nil {
		return nil, err
	}
	return &out.Workspace, nil
}
