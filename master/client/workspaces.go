package client

import (
	"context"

	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// WorkspaceByName finds a workspace.
func (c *Client) WorkspaceByName(ctx context.Context, name string) (*v1.Workspace, error) {
	list := Each(ctx, c, v1.ListWorkspaces, Page{}, &v1.GetWorkspacesRequest{NameCaseSensitive: name})
	return firstOf(list, func(w v1.Workspace) bool { return w.Name == name }, fault.New(fault.NotFound, "there is no workspace named %q", name))
}

// ProjectByName finds a project in a workspace.
func (c *Client) ProjectByName(ctx context.Context, workspace, name string) (*v1.Project, error) {
	w, err := c.WorkspaceByName(ctx, workspace)
	if err != nil {
		return nil, err
	}
	list := Each(ctx, c, v1.ListProjects, Page{}, &v1.GetWorkspaceProjectsRequest{Name: name}, w.ID)
	return firstOf(list, func(p v1.Project) bool { return p.Name == name },
		fault.New(fault.NotFound, "there is no project named %q in workspace %q", name, workspace))
}
