package client

import (
	"context"
	"iter"
	"net/url"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
)

// ProjectQuery narrows a list of projects. Zero fields do not.
type ProjectQuery struct {
	Page
	Name    string
	SortBy  string
	OrderBy string
}

// Projects lists those of a workspace.
func (c *Client) Projects(ctx context.Context, workspace int, query ProjectQuery) iter.Seq2[v1.Project, error] {
	return pages(ctx, query.Page, func(ctx context.Context, p Page) ([]v1.Project, v1.Pagination, error) {
		q := url.Values{}
		one(q, "name", query.Name)
		one(q, "sortBy", query.SortBy)
		one(q, "orderBy", query.OrderBy)
		p.set(q)
		var out v1.GetWorkspaceProjectsResponse
		err := c.get(ctx, workspacePath(workspace)+"/projects", q, &out)
		return out.Projects, out.Pagination, err
	})
}

// ProjectByName finds a project in a workspace.
func (c *Client) ProjectByName(ctx context.Context, workspace, name string) (*v1.Project, error) {
	w, err := c.WorkspaceByName(ctx, workspace)
	if err != nil {
		return nil, err
	}
	for p, err := range c.Projects(ctx, w.ID, ProjectQuery{Name: name}) {
		if err != nil {
			return nil, err
		}
		if p.Name == name {
			return &p, nil
		}
	}
	return nil, fault.New(fault.NotFound, "there is no project named %q in workspace %q", name, workspace)
}

// CreateProject makes one.
func (c *Client) CreateProject(ctx context.Context, req v1.PostProjectRequest) (*v1.Project, error) {
	var out v1.PostProjectResponse
	if err := c.post(ctx, workspacePath(req.WorkspaceID)+"/projects", req, &out); err != nil {
		return nil, err
	}
	return &out.Project, nil
}
