package client

import (
	"context"
	"iter"

	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Groups lists groups: all that the caller sees, those with a name, or those of a user.
func (c *Client) Groups(ctx context.Context, p Page, name string, user int) iter.Seq2[v1.GroupSearchResult, error] {
	return pages(ctx, p, func(ctx context.Context, p Page) ([]v1.GroupSearchResult, v1.Pagination, error) {
		out, err := post(ctx, c, v1.ListGroups, v1.GetGroupsRequest{Name: name, UserID: user, Offset: p.Offset, Limit: p.Limit})
		if err != nil {
			return nil, v1.Pagination{}, err
		}
		return out.Groups, pagination(out.Pagination), nil
	})
}

// GroupByName finds a group.
func (c *Client) GroupByName(ctx context.Context, name string) (*v1.Group, error) {
	for g, err := range c.Groups(ctx, Page{Limit: 1}, name, 0) {
		if err != nil {
			return nil, err
		}
		return &g.Group, nil
	}
	return nil, fault.New(fault.NotFound, "could not find user group name %s", name)
}

// Group returns a group with its users.
func (c *Client) Group(ctx context.Context, id int) (*v1.GroupDetails, error) {
	out, err := get(ctx, c, v1.GetGroup, nil, id)
	if err != nil {
		return nil, err
	}
	return &out.Group, nil
}

// CreateGroup creates a group.
func (c *Client) CreateGroup(ctx context.Context, req v1.CreateGroupRequest) (*v1.GroupDetails, error) {
	out, err := post(ctx, c, v1.CreateGroup, req)
	if err != nil {
		return nil, err
	}
	return &out.Group, nil
}

// UpdateGroup renames a group, adds users and removes users.
func (c *Client) UpdateGroup(ctx context.Context, req v1.UpdateGroupRequest) (*v1.GroupDetails, error) {
	out, err := post(ctx, c, v1.UpdateGroup, req, req.GroupID)
	if err != nil {
		return nil, err
	}
	return &out.Group, nil
}

// DeleteGroup deletes a group.
func (c *Client) DeleteGroup(ctx context.Context, id int) error {
	return act(ctx, c, v1.DeleteGroup, id)
}

// AssignableRoles lists the roles that can be assigned in a workspace; all roles for nil.
func (c *Client) AssignableRoles(ctx context.Context, p Page, workspace *int) iter.Seq2[v1.Role, error] {
	return pages(ctx, p, func(ctx context.Context, p Page) ([]v1.Role, v1.Pagination, error) {
		out, err := post(ctx, c, v1.SearchRolesAssignableToScope, v1.SearchRolesAssignableToScopeRequest{Offset: p.Offset, Limit: p.Limit, WorkspaceID: workspace})
		if err != nil {
			return nil, v1.Pagination{}, err
		}
		return out.Roles, pagination(out.Pagination), nil
	})
}

// RoleByName finds a role.
func (c *Client) RoleByName(ctx context.Context, name string) (*v1.Role, error) {
	for r, err := range c.AssignableRoles(ctx, Page{}, nil) {
		if err != nil {
			return nil, err
		}
		if r.Name == name {
			return &r, nil
		}
	}
	return nil, fault.New(fault.NotFound, "could not find role name %s; det rbac list-roles lists all", name)
}

// RoleWithAssignments returns a role with those who have it.
func (c *Client) RoleWithAssignments(ctx context.Context, id int) (*v1.RoleWithAssignments, error) {
	out, err := post(ctx, c, v1.GetRolesByID, v1.GetRolesByIDRequest{RoleIDs: []int{id}})
	if err != nil {
		return nil, err
	}
	if len(out.Roles) != 1 {
		return nil, fault.New(fault.NotFound, "there is no role %d", id)
	}
	return &out.Roles[0], nil
}

// RolesOfUser returns the roles of a user and of the user's groups.
func (c *Client) RolesOfUser(ctx context.Context, id int) (*v1.GetRolesAssignedToUserResponse, error) {
	return get(ctx, c, v1.GetRolesAssignedToUser, nil, id)
}

// RolesOfGroup returns the roles of a group.
func (c *Client) RolesOfGroup(ctx context.Context, id int) (*v1.GetRolesAssignedToGroupResponse, error) {
	return get(ctx, c, v1.GetRolesAssignedToGroup, nil, id)
}

// OwnPermissions returns the roles of the caller.
func (c *Client) OwnPermissions(ctx context.Context) (*v1.GetPermissionsSummaryResponse, error) {
	return get(ctx, c, v1.GetPermissionsSummary, nil)
}

// AssignRoles gives roles.
func (c *Client) AssignRoles(ctx context.Context, req v1.AssignRolesRequest) error {
	_, err := post(ctx, c, v1.AssignRoles, req)
	return err
}

// RemoveAssignments takes roles.
func (c *Client) RemoveAssignments(ctx context.Context, req v1.RemoveAssignmentsRequest) error {
	_, err := post(ctx, c, v1.RemoveAssignments, req)
	return err
}

// WorkspaceMembers returns the users and groups with roles in a workspace.
func (c *Client) WorkspaceMembers(ctx context.Context, id int) (*v1.GetGroupsAndUsersAssignedToWorkspaceResponse, error) {
	return get(ctx, c, v1.ListWorkspaceMembers, nil, id)
}

// AccessPreview returns what all users have with roles.
func (c *Client) AccessPreview(ctx context.Context) (*v1.AccessPreviewResponse, error) {
	return get(ctx, c, v1.PreviewAccess, nil)
}
