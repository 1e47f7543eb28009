package client

import (
	"context"

	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// WorkspaceByName finds a workspace.
func (c *Client) WorkspaceByName(ctx context.Context, name string) (*v1.Workspace, error) {
	for w, err := range Each(ctx, c, v1.ListWorkspaces, Page{}, &v1.GetWorkspacesRequest{NameCaseSensitive: name}) {
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

// ProjectByName finds a project in a workspace.
func (c *Client) ProjectByName(ctx context.Context, workspace, name string) (*v1.Project, error) {
	w, err := c.WorkspaceByName(ctx, workspace)
	if err != nil {
		return nil, err
	}
	for p, err := range Each(ctx, c, v1.ListProjects, Page{}, &v1.GetWorkspaceProjectsRequest{Name: name}, w.ID) {
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
