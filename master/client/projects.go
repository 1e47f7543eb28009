package client

import (
	"context"
	"iter"

	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// ProjectQuery filters a list of projects. Zero fields have no effect.
type ProjectQuery struct {
	Page
	Name    string
	SortBy  string
	OrderBy string
}

// Projects lists the projects of a workspace.
func (c *Client) Projects(ctx context.Context, workspace int, query ProjectQuery) iter.Seq2[v1.Project, error] {
	request := v1.GetWorkspaceProjectsRequest{Name: query.Name, Order: v1.Order{SortBy: query.SortBy, OrderBy: query.OrderBy}}
	return list(ctx, c, v1.ListProjects, query.Page, &request, func(r *v1.GetWorkspaceProjectsResponse) ([]v1.Project, v1.Pagination) {
		return r.Projects, r.Pagination
	}, workspace)
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

// ArchiveProject archives or unarchives a project.
func (c *Client) ArchiveProject(ctx context.Context, id int, archived bool) error {
	if archived {
		return Act(ctx, c, v1.ArchiveProject, id)
	}
	return Act(ctx, c, v1.UnarchiveProject, id)
}
