package api

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

// registerRoles must run before registerUsers: the route /users/:id would also match /users/assignments.
func (a *API) registerRoles() {
	rest.Serve(a.router, v1.AssignMultipleGroups, a.assignGroups)
	rest.Serve(a.router, v1.ListGroups, a.listGroups)
	rest.Serve(a.router, v1.CreateGroup, a.createGroup)
	rest.ServeOn(a.router, v1.GetGroup, a.onGroup(), a.group)
	rest.ServeOn(a.router, v1.UpdateGroup, a.onGroup(), a.updateGroup)
	rest.ServeOn(a.router, v1.DeleteGroup, a.onGroup(), a.deleteGroup)
	rest.Serve(a.router, v1.ListRoles, a.listRoles)
	rest.Serve(a.router, v1.GetRolesByID, a.rolesByID)
	rest.Serve(a.router, v1.SearchRolesAssignableToScope, a.assignableRoles)
	rest.ServeOn(a.router, v1.GetRolesAssignedToUser, rest.On("user", func(ctx context.Context, id int) (accounts.User, error) { return accounts.UserByID(ctx, a.db.DB, id) }, ofUser), a.rolesOfUser)
	rest.ServeOn(a.router, v1.GetRolesAssignedToGroup, a.onGroup(), a.rolesOfGroup)
	rest.Serve(a.router, v1.AssignRoles, a.assignRoles)
	rest.Serve(a.router, v1.RemoveAssignments, a.removeRoles)
	rest.Serve(a.router, v1.GetPermissionsSummary, a.ownRoles)
	rest.ServeOn(a.router, v1.ListWorkspaceMembers, rest.On("workspace", func(ctx context.Context, id int) (workspaces.Workspace, error) {
		return workspaces.Get(ctx, a.db.DB, id)
	}, workspaces.Workspace.Object), a.workspaceMembers)
	rest.Serve(a.router, v1.PreviewAccess, a.previewAccess)
}

// rolesChanged makes changed roles effective: immediately on this master, and on other masters when
// their cached callers expire (whoTTL).
func (a *API) rolesChanged() {
	a.auth.forgetAll()
	a.bus.Publish(accounts.TopicAccess)
}

const permissionPrefix = "PERMISSION_TYPE_"

func wireRole(r auth.Role) v1.Role {
	w := v1.Role{RoleID: int(r.ID), Name: r.Name, ScopeTypeMask: &v1.ScopeTypeMask{Cluster: true, Workspace: !r.OnlyGlobal()}}
	for _, p := range r.Permissions {
		w.Permissions = append(w.Permissions, v1.Permission{ID: permissionPrefix + p.Type, Name: p.Name,
			ScopeTypeMask: &v1.ScopeTypeMask{Cluster: true, Workspace: !p.Global}})
	}
	return w
}

func wireRolePtr(r auth.Role) *v1.Role {
	w := wireRole(r)
	return &w
}

func wireRoles(list []auth.Role) (out []v1.Role) {
	for _, r := range list {
		out = append(out, wireRole(r))
	}
	return out
}

func (a *API) listRoles(_ context.Context, _ *rest.Call, req *v1.ListRolesRequest) (*v1.ListRolesResponse, error) {
	list, p, err := rest.Cut(auth.Roles(), pageOf(req.Offset, req.Limit))
	return &v1.ListRolesResponse{Roles: wireRoles(list), Pagination: p}, err
}

func (a *API) assignableRoles(ctx context.Context, c *rest.Call, req *v1.SearchRolesAssignableToScopeRequest) (*v1.SearchRolesAssignableToScopeResponse, error) {
	all := auth.Roles()
	if req.WorkspaceID != nil {
		all = slices.DeleteFunc(all, auth.Role.OnlyGlobal)
	}
	list, p, err := rest.Cut(all, pageOf(req.Offset, req.Limit))
	return &v1.SearchRolesAssignableToScopeResponse{Roles: wireRoles(list), Pagination: &p}, err
}

// seesAssignment reports whether the caller may see an assignment. Callers see their own assignments, the assignments in
// workspaces that they may view, and assignments for the whole cluster if they may assign roles.
func seesAssignment(c *rest.Call, x accounts.Assignment) bool {
	switch {
	case c.Who().Grants == nil || c.Who().IsAdmin() || x.UserID != nil && *x.UserID == c.Who().UserID:
		return true
	case x.WorkspaceID != nil:
		return auth.Sees(c.Who(), auth.Object{Kind: v1.KindWorkspace, WorkspaceID: *x.WorkspaceID})
	}
	return seesGroups(c)
}

// withAssignments groups assignments by role: each role with its users and groups, and whether everybody has it, in the
// order of the list.
func withAssignments(list []accounts.Assignment) (out []v1.RoleWithAssignments) {
	for _, x := range list {
		role, ok := auth.RoleByID(x.RoleID)
		if !ok {
			continue
		}
		at := slices.IndexFunc(out, func(r v1.RoleWithAssignments) bool { return r.Role.RoleID == int(x.RoleID) })
		if at < 0 {
			at, out = len(out), append(out, v1.RoleWithAssignments{Role: wireRolePtr(role)})
		}
		assigned := v1.RoleAssignment{Role: v1.Role{RoleID: int(role.ID), Name: role.Name},
			ScopeWorkspaceID: x.WorkspaceID, ScopeCluster: x.WorkspaceID == nil}
		if x.UserID != nil {
			out[at].UserRoleAssignments = append(out[at].UserRoleAssignments,
				v1.UserRoleAssignment{UserID: *x.UserID, RoleAssignment: assigned})
		} else if x.GroupID != nil {
			out[at].GroupRoleAssignments = append(out[at].GroupRoleAssignments,
				v1.GroupRoleAssignment{GroupID: *x.GroupID, RoleAssignment: assigned})
		} else {
			out[at].EverybodysRoles = append(out[at].EverybodysRoles, assigned)
		}
	}
	return out
}

// summaries returns the roles in a list of assignments, each with its scope: workspaces or the cluster.
func summaries(list []accounts.Assignment) (roles []v1.Role, out []v1.RoleAssignmentSummary) {
	pairs := make([][2]int, len(list))
	for i, x := range list {
		pairs[i][0] = int(x.RoleID)
		if x.WorkspaceID != nil {
			pairs[i][1] = *x.WorkspaceID
		}
	}
	for _, g := range auth.NewGrants(pairs) {
		role, _ := auth.RoleByID(g.Role)
		roles = append(roles, wireRole(role))
		out = append(out, v1.RoleAssignmentSummary{RoleID: int(g.Role), ScopeWorkspaceIDs: g.Scope.Workspaces, ScopeCluster: g.Scope.All})
	}
	return roles, out
}

func (a *API) rolesByID(ctx context.Context, c *rest.Call, req *v1.GetRolesByIDRequest) (*v1.GetRolesByIDResponse, error) {
	if err := checkNamed("roleIds", req.RoleIDs); err != nil {
		return nil, err
	}
	all, err := accounts.Assignments(ctx, a.db.DB)
	if err != nil {
		return nil, err
	}
	resp := &v1.GetRolesByIDResponse{}
	for _, id := range req.RoleIDs {
		role, ok := auth.RoleByID(auth.RoleID(id))
		if !ok {
			return nil, noRole(id)
		}
		var list []accounts.Assignment
		for _, x := range all {
			if x.RoleID == role.ID && seesAssignment(c, x) {
				list = append(list, x)
			}
		}
		found := withAssignments(list)
		if len(found) == 0 {
			found = []v1.RoleWithAssignments{{Role: wireRolePtr(role)}}
		}
		resp.Roles = append(resp.Roles, found[0])
	}
	return resp, nil
}

func noRole(id int) error {
	return fault.New(fault.NotFound, "there is no role %d; det rbac list-roles shows all roles", id)
}

func (a *API) rolesOfUser(ctx context.Context, c *rest.Call, u accounts.User, _ *v1.None) (*v1.GetRolesAssignedToUserResponse, error) {
	list, err := accounts.AssignmentsOfUser(ctx, a.db.DB, u.ID)
	if u.ID != c.Who().UserID {
		list = slices.DeleteFunc(list, func(x accounts.Assignment) bool { return !seesAssignment(c, x) })
	}
	return &v1.GetRolesAssignedToUserResponse{Roles: withAssignments(list)}, err
}

func (a *API) rolesOfGroup(ctx context.Context, c *rest.Call, g accounts.Group, _ *v1.None) (*v1.GetRolesAssignedToGroupResponse, error) {
	list, err := accounts.AssignmentsOfGroup(ctx, a.db.DB, g.ID)
	member := false
	if err == nil {
		member, err = accounts.IsMember(ctx, a.db.DB, g.ID, c.Who().UserID)
	}
	if !member {
		list = slices.DeleteFunc(list, func(x accounts.Assignment) bool { return !seesAssignment(c, x) })
	}
	resp := &v1.GetRolesAssignedToGroupResponse{}
	resp.Roles, resp.Assignments = summaries(list)
	return resp, err
}

// ownRoles returns the caller's roles, also on a master that does not use roles yet.
func (a *API) ownRoles(ctx context.Context, c *rest.Call, _ *v1.None) (*v1.GetPermissionsSummaryResponse, error) {
	list, err := accounts.AssignmentsOfUser(ctx, a.db.DB, c.Who().UserID)
	resp := &v1.GetPermissionsSummaryResponse{}
	resp.Roles, resp.Assignments = summaries(list)
	return resp, err
}

func (a *API) assignRoles(ctx context.Context, c *rest.Call, req *v1.AssignRolesRequest) (*v1.Empty, error) {
	list, err := a.assignments(ctx, c, req.UserRoleAssignments, req.GroupRoleAssignments, req.EverybodysRoles)
	if err != nil {
		return nil, err
	}
	changed, err := accounts.AssignRoles(ctx, a.db.DB, list, c.May(auth.Assign, auth.Object{Kind: v1.KindRole}) == nil)
	if err != nil {
		return nil, err
	}
	if changed {
		a.rolesChanged()
	}
	return &v1.Empty{}, nil
}

func (a *API) removeRoles(ctx context.Context, c *rest.Call, req *v1.RemoveAssignmentsRequest) (*v1.Empty, error) {
	list, err := a.assignments(ctx, c, req.UserRoleAssignments, req.GroupRoleAssignments, req.EverybodysRoles)
	if err == nil {
		err = accounts.RemoveRoles(ctx, a.db.DB, a.db.Roles, list)
	}
	if err != nil {
		return nil, err
	}
	a.rolesChanged()
	return &v1.Empty{}, nil
}

// assignments converts the assignments in a request. It checks that the roles, users, groups and workspaces exist, and
// that the caller may assign roles there.
func (a *API) assignments(ctx context.Context, c *rest.Call, users []v1.UserRoleAssignment, groups []v1.GroupRoleAssignment, everybodys []v1.RoleAssignment) ([]accounts.Assignment, error) {
	if n := len(users) + len(groups) + len(everybodys); n == 0 || n > maxAssigned {
		return nil, fault.New(fault.Invalid, "a request assigns or removes 1 to %d roles, found %d", maxAssigned, n)
	}
	var list []accounts.Assignment
	add := func(field string, r v1.RoleAssignment, user, group *int) error {
		x, err := a.assignment(ctx, c, field, r)
		x.UserID, x.GroupID = user, group
		list = append(list, x)
		return err
	}
	var userIDs, groupIDs []int
	for i, u := range users {
		userIDs = append(userIDs, u.UserID)
		if err := add(fmt.Sprintf("userRoleAssignments[%d]", i), u.RoleAssignment, &u.UserID, nil); err != nil {
			return nil, err
		}
	}
	for i, g := range groups {
		groupIDs = append(groupIDs, g.GroupID)
		if err := add(fmt.Sprintf("groupRoleAssignments[%d]", i), g.RoleAssignment, nil, &g.GroupID); err != nil {
			return nil, err
		}
	}
	for i, r := range everybodys {
		field := fmt.Sprintf("everybodysRoles[%d]", i)
		if auth.RoleID(r.Role.RoleID) == auth.ClusterAdmin {
			return nil, fault.New(fault.Invalid, "%s: nobody would be safe if everybody were a ClusterAdmin; assign this role to users or groups", field)
		}
		if err := add(field, r, nil, nil); err != nil {
			return nil, err
		}
	}
	knownUsers, err := accounts.UsersByID(ctx, a.db.DB, userIDs)
	if err != nil {
		return nil, err
	}
	knownGroups, err := accounts.GroupsByID(ctx, a.db.DB, groupIDs)
	if err != nil {
		return nil, err
	}
	for _, id := range userIDs {
		if !slices.ContainsFunc(knownUsers, func(u accounts.User) bool { return u.ID == id }) {
			return nil, fault.New(fault.NotFound, "user %d not found", id)
		}
	}
	for _, id := range groupIDs {
		if !slices.ContainsFunc(knownGroups, func(g accounts.Group) bool { return g.ID == id }) {
			return nil, fault.New(fault.NotFound, "group %d not found", id)
		}
	}
	return list, nil
}

func (a *API) assignment(ctx context.Context, c *rest.Call, field string, r v1.RoleAssignment) (accounts.Assignment, error) {
	x := accounts.Assignment{RoleID: auth.RoleID(r.Role.RoleID), WorkspaceID: r.ScopeWorkspaceID}
	role, ok := auth.RoleByID(x.RoleID)
	if !ok {
		return x, noRole(r.Role.RoleID)
	}
	in := auth.Object{Kind: v1.KindRole}
	if x.WorkspaceID != nil {
		switch {
		case r.ScopeCluster:
			return x, fault.New(fault.Invalid, "%s: scopeWorkspaceId and scopeCluster exclude each other", field)
		case role.OnlyGlobal():
			return x, fault.New(fault.Invalid, "%s: role %s can be assigned only for the whole cluster", field, role.Name)
		}
		w, err := workspaces.Get(ctx, a.db.DB, *x.WorkspaceID)
		if err == nil {
			err = c.May(auth.View, w.Object())
		}
		if err != nil {
			return x, err
		}
		in.WorkspaceID = w.ID
	}
	if auth.Can(c.Who(), auth.Assign, in) {
		return x, nil
	}
	if x.WorkspaceID == nil {
		return x, fault.New(fault.Forbidden, "%s may not assign roles for the whole cluster", c.Who().Username)
	}
	return x, fault.New(fault.Forbidden, "%s may not assign roles in workspace %d", c.Who().Username, *x.WorkspaceID)
}

func (a *API) workspaceMembers(ctx context.Context, c *rest.Call, w workspaces.Workspace, req *v1.GetWorkspaceMembersRequest) (*v1.GetGroupsAndUsersAssignedToWorkspaceResponse, error) {
	matches := func(text string) bool { return strings.Contains(strings.ToLower(text), strings.ToLower(req.Name)) }
	list, err := accounts.AssignmentsIn(ctx, a.db.DB, w.ID)
	if err != nil {
		return nil, err
	}
	var userIDs, groupIDs []int
	for _, x := range list {
		if x.UserID != nil {
			userIDs = append(userIDs, *x.UserID)
		} else if x.GroupID != nil {
			groupIDs = append(groupIDs, *x.GroupID)
		}
	}
	users, err := accounts.UsersByID(ctx, a.db.DB, userIDs)
	if err != nil {
		return nil, err
	}
	groups, err := accounts.GroupsByID(ctx, a.db.DB, groupIDs)
	if err != nil {
		return nil, err
	}
	users = slices.DeleteFunc(users, func(u accounts.User) bool { return !matches(u.Username) && !matches(u.DisplayName) })
	groups = slices.DeleteFunc(groups, func(g accounts.Group) bool { return !matches(g.Name) })
	list = slices.DeleteFunc(list, func(x accounts.Assignment) bool {
		return !slices.ContainsFunc(users, func(u accounts.User) bool { return x.UserID != nil && u.ID == *x.UserID }) &&
			!slices.ContainsFunc(groups, func(g accounts.Group) bool { return x.GroupID != nil && g.ID == *x.GroupID }) &&
			(x.UserID != nil || x.GroupID != nil)
	})
	resp := &v1.GetGroupsAndUsersAssignedToWorkspaceResponse{Assignments: withAssignments(list)}
	for _, u := range users {
		resp.UsersAssignedDirectly = append(resp.UsersAssignedDirectly, wireUser(u))
	}
	resp.Groups, err = a.details(ctx, groups)
	return resp, err
}
