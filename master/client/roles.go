package client

import (
	"context"
	"iter"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Groups lists groups: all that the caller sees, those with a name, or those of a user.
func (c *Client) Groups(ctx context.Context, p Page, name string, user int) iter.Seq2[v1.GroupSearchResult, error] {
	return pages(ctx, p, func(ctx context.Context, p Page) ([]v1.GroupSearchResult, v1.Pagination, error) {
		out, err := Send(ctx, c, v1.ListGroups, v1.GetGroupsRequest{Name: name, UserID: user, Offset: p.Offset, Limit: p.Limit})
		return out.Groups, optional.Value(out.Pagination), err
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

// AssignableRoles lists the roles that can be assigned in a workspace; all roles for nil.
func (c *Client) AssignableRoles(ctx context.Context, p Page, workspace *int) iter.Seq2[v1.Role, error] {
	return pages(ctx, p, func(ctx context.Context, p Page) ([]v1.Role, v1.Pagination, error) {
		out, err := Send(ctx, c, v1.SearchRolesAssignableToScope, v1.SearchRolesAssignableToScopeRequest{Offset: p.Offset, Limit: p.Limit, WorkspaceID: workspace})
		return out.Roles, optional.Value(out.Pagination), err
	})
}

// RoleByName finds a role.
func (c *Client) RoleByName(ctx context.Context, name string) (*v1.Role, error) {
	return firstOf(c.AssignableRoles(ctx, Page{}, nil), func(r v1.Role) bool { return r.Name == name },
		fault.New(fault.NotFound, "could not find role name %s; det rbac list-roles lists all", name))
}

// RoleWithAssignments returns a role with those who have it.
func (c *Client) RoleWithAssignments(ctx context.Context, id int) (*v1.RoleWithAssignments, error) {
	out, err := Send(ctx, c, v1.GetRolesByID, v1.GetRolesByIDRequest{RoleIDs: []int{id}})
	if err != nil {
		return nil, err
	}
	if len(out.Roles) != 1 {
		return nil, fault.New(fault.NotFound, "there is no role %d", id)
	}
	return &out.Roles[0], nil
}
