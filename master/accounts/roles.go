package accounts

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

const permissionPrefix = "PERMISSION_TYPE_"

func wireRole(r auth.Role) v1.Role {
	permissions := each.Of(r.Permissions, func(p auth.Permission) v1.Permission {
		return v1.Permission{ID: permissionPrefix + p.Type, Name: p.Name, ScopeTypeMask: &v1.ScopeTypeMask{Cluster: true, Workspace: !p.Global}}
	})
	return v1.Role{RoleID: int(r.ID), Name: r.Name, Permissions: permissions, ScopeTypeMask: &v1.ScopeTypeMask{Cluster: true, Workspace: !r.OnlyGlobal()}}
}

func (d Deps) listRoles(_ context.Context, _ *rest.Call, req *v1.ListRolesRequest) (*v1.ListRolesResponse, error) {
	list, p, err := rest.Cut(auth.Roles(), pageOf(req.Offset, req.Limit))
	return &v1.ListRolesResponse{Roles: each.Of(list, wireRole), Pagination: p}, err
}

func (d Deps) assignableRoles(ctx context.Context, c *rest.Call, req *v1.SearchRolesAssignableToScopeRequest) (*v1.SearchRolesAssignableToScopeResponse, error) {
	all := auth.Roles()
	if req.WorkspaceID != nil {
		all = slices.DeleteFunc(all, auth.Role.OnlyGlobal)
	}
	list, p, err := rest.Cut(all, pageOf(req.Offset, req.Limit))
	return &v1.SearchRolesAssignableToScopeResponse{Roles: each.Of(list, wireRole), Pagination: &p}, err
}

// seesAssignment reports whether the caller may see an assignment. Callers see their own assignments, the assignments in
// workspaces that they may view, and assignments for the whole cluster if they may assign roles.
func seesAssignment(c *rest.Call, x Assignment) bool {
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
func withAssignments(list []Assignment) (out []v1.RoleWithAssignments) {
	for _, x := range list {
		role, ok := auth.RoleByID(x.RoleID)
		if !ok {
			continue
		}
		at := slices.IndexFunc(out, func(r v1.RoleWithAssignments) bool { return r.Role.RoleID == int(x.RoleID) })
		if at < 0 {
			at, out = len(out), append(out, v1.RoleWithAssignments{Role: new(wireRole(role))})
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
func summaries(list []Assignment) (roles []v1.Role, out []v1.RoleAssignmentSummary) {
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

func (d Deps) rolesByID(ctx context.Context, c *rest.Call, req *v1.GetRolesByIDRequest) (*v1.GetRolesByIDResponse, error) {
	if err := checkNamed("roleIds", req.RoleIDs); err != nil {
		return nil, err
	}
	all, err := Assignments(ctx, d.DB)
	if err != nil {
		return nil, err
	}
	resp := &v1.GetRolesByIDResponse{}
	for _, id := range req.RoleIDs {
		role, ok := auth.RoleByID(auth.RoleID(id))
		if !ok {
			return nil, noRole(id)
		}
		found := withAssignments(slices.DeleteFunc(slices.Clone(all), func(x Assignment) bool { return x.RoleID != role.ID || !seesAssignment(c, x) }))
		if len(found) == 0 {
			found = []v1.RoleWithAssignments{{Role: new(wireRole(role))}}
		}
		resp.Roles = append(resp.Roles, found[0])
	}
	return resp, nil
}

func noRole(id int) error {
	return fault.New(fault.NotFound, "there is no role %d; det rbac list-roles shows all roles", id)
}

func (d Deps) rolesOfUser(ctx context.Context, c *rest.Call, u User, _ *v1.None) (*v1.GetRolesAssignedToUserResponse, error) {
	list, err := AssignmentsOfUser(ctx, d.DB, u.ID)
	if u.ID != c.Who().UserID {
		list = slices.DeleteFunc(list, func(x Assignment) bool { return !seesAssignment(c, x) })
	}
	return &v1.GetRolesAssignedToUserResponse{Roles: withAssignments(list)}, err
}

func (d Deps) rolesOfGroup(ctx context.Context, c *rest.Call, g Group, _ *v1.None) (*v1.GetRolesAssignedToGroupResponse, error) {
	list, err := AssignmentsOfGroup(ctx, d.DB, g.ID)
	member := false
	if err == nil {
		member, err = IsMember(ctx, d.DB, g.ID, c.Who().UserID)
	}
	if !member {
		list = slices.DeleteFunc(list, func(x Assignment) bool { return !seesAssignment(c, x) })
	}
	resp := &v1.GetRolesAssignedToGroupResponse{}
	resp.Roles, resp.Assignments = summaries(list)
	return resp, err
}

// ownRoles returns the caller's roles, also on a master that does not use roles yet.
func (d Deps) ownRoles(ctx context.Context, c *rest.Call, _ *v1.None) (*v1.GetPermissionsSummaryResponse, error) {
	list, err := AssignmentsOfUser(ctx, d.DB, c.Who().UserID)
	resp := &v1.GetPermissionsSummaryResponse{}
	resp.Roles, resp.Assignments = summaries(list)
	return resp, err
}

func (d Deps) assignRoles(ctx context.Context, c *rest.Call, req *v1.AssignRolesRequest) (*v1.Empty, error) {
	list, err := d.assignments(ctx, c, req.UserRoleAssignments, req.GroupRoleAssignments, req.EverybodysRoles)
	if err != nil {
		return nil, err
	}
	changed, err := AssignRoles(ctx, d.DB, list, c.May(auth.Assign, auth.Object{Kind: v1.KindRole}) == nil)
	if err != nil {
		return nil, err
	}
	if changed {
		d.Callers.RolesChanged()
	}
	return &v1.Empty{}, nil
}

func (d Deps) removeRoles(ctx context.Context, c *rest.Call, req *v1.RemoveAssignmentsRequest) (*v1.Empty, error) {
	list, err := d.assignments(ctx, c, req.UserRoleAssignments, req.GroupRoleAssignments, req.EverybodysRoles)
	if err == nil {
		err = RemoveRoles(ctx, d.DB, d.Roles, list)
	}
	return rest.Done[v1.Empty](err, d.Callers.RolesChanged)
}

// assignments converts the assignments in a request. It checks that the roles, users, groups and workspaces exist, and
// that the caller may assign roles there.
func (d Deps) assignments(ctx context.Context, c *rest.Call, users []v1.UserRoleAssignment, groups []v1.GroupRoleAssignment, everybodys []v1.RoleAssignment) ([]Assignment, error) {
	if n := len(users) + len(groups) + len(everybodys); n == 0 || n > maxAssigned {
		return nil, fault.New(fault.Invalid, "a request assigns or removes 1 to %d roles, found %d", maxAssigned, n)
	}
	var list []Assignment
	add := func(field string, r v1.RoleAssignment, user, group *int) error {
		x, err := d.assignment(ctx, c, field, r)
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
	knownUsers, err := UsersByID(ctx, d.DB, userIDs)
	if err != nil {
		return nil, err
	}
	knownGroups, err := GroupsByID(ctx, d.DB, groupIDs)
	if err != nil {
		return nil, err
	}
	for _, id := range userIDs {
		if !slices.ContainsFunc(knownUsers, func(u User) bool { return u.ID == id }) {
			return nil, fault.New(fault.NotFound, "user %d not found", id)
		}
	}
	for _, id := range groupIDs {
		if !slices.ContainsFunc(knownGroups, func(g Group) bool { return g.ID == id }) {
			return nil, fault.New(fault.NotFound, "group %d not found", id)
		}
	}
	return list, nil
}

func (d Deps) assignment(ctx context.Context, c *rest.Call, field string, r v1.RoleAssignment) (Assignment, error) {
	x := Assignment{RoleID: auth.RoleID(r.Role.RoleID), WorkspaceID: r.ScopeWorkspaceID}
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
		w, err := d.Workspace(ctx, *x.WorkspaceID)
		if err == nil {
			err = c.May(auth.View, w)
		}
		if err != nil {
			return x, err
		}
		in.WorkspaceID = w.WorkspaceID
	}
	if auth.Can(c.Who(), auth.Assign, in) {
		return x, nil
	}
	if x.WorkspaceID == nil {
		return x, fault.New(fault.Forbidden, "%s may not assign roles for the whole cluster", c.Who().Username)
	}
	return x, fault.New(fault.Forbidden, "%s may not assign roles in workspace %d", c.Who().Username, *x.WorkspaceID)
}

func (d Deps) workspaceMembers(ctx context.Context, c *rest.Call, w auth.Object, req *v1.GetWorkspaceMembersRequest) (*v1.GetGroupsAndUsersAssignedToWorkspaceResponse, error) {
	matches := func(text string) bool { return strings.Contains(strings.ToLower(text), strings.ToLower(req.Name)) }
	list, err := AssignmentsIn(ctx, d.DB, w.WorkspaceID)
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
	users, err := UsersByID(ctx, d.DB, userIDs)
	if err != nil {
		return nil, err
	}
	groups, err := GroupsByID(ctx, d.DB, groupIDs)
	if err != nil {
		return nil, err
	}
	users = slices.DeleteFunc(users, func(u User) bool { return !matches(u.Username) && !matches(u.DisplayName) })
	groups = slices.DeleteFunc(groups, func(g Group) bool { return !matches(g.Name) })
	list = slices.DeleteFunc(list, func(x Assignment) bool {
		return !slices.ContainsFunc(users, func(u User) bool { return x.UserID != nil && u.ID == *x.UserID }) &&
			!slices.ContainsFunc(groups, func(g Group) bool { return x.GroupID != nil && g.ID == *x.GroupID }) &&
			(x.UserID != nil || x.GroupID != nil)
	})
	resp := &v1.GetGroupsAndUsersAssignedToWorkspaceResponse{Assignments: withAssignments(list), UsersAssignedDirectly: each.Of(users, WireUser)}
	resp.Groups, err = d.details(ctx, groups)
	return resp, err
}

// previewAccess shows what each user has with roles. Before roles are in use, it counts the admins
// of basic mode as ClusterAdmins, because they become that at the switch.
func (d Deps) previewAccess(ctx context.Context, c *rest.Call, req *v1.GetListRequest) (*v1.AccessPreviewResponse, error) {
	users, _, err := Users(ctx, d.DB, UserFilter{})
	if err != nil {
		return nil, err
	}
	users, p, err := rest.Cut(users, req.Window)
	if err != nil {
		return nil, err
	}
	ids := each.Of(users, func(u User) int { return u.ID })
	grants, err := GrantsOf(ctx, d.DB, ids)
	if err != nil {
		return nil, err
	}
	owned, err := d.Owned(ctx)
	if err != nil {
		return nil, err
	}
	workspaces, err := d.Workspaces(ctx)
	if err != nil {
		return nil, err
	}
	byOwner := each.Group(owned, func(o Owned) int { return o.OwnerID })
	resp := &v1.AccessPreviewResponse{InUse: bool(d.Roles), Workspaces: len(workspaces), Pagination: p}
	for _, u := range users {
		g := grants[u.ID]
		if !resp.InUse && u.Admin && u.Active {
			g = append(auth.NewGrants([][2]int{{int(auth.ClusterAdmin), 0}}), g...)
		}
		resp.Users = append(resp.Users, previewOf(u, g, workspaces, byOwner[u.ID]))
	}
	return resp, nil
}

func previewOf(u User, g auth.Grants, workspaces []int, owned []Owned) v1.AccessPreview {
	who := auth.Who{UserID: u.ID, Grants: &g}
	out := v1.AccessPreview{UserID: u.ID, Username: u.Username, Active: u.Active, ClusterAdmin: who.IsAdmin()}
	for _, w := range workspaces {
		in := auth.Object{Kind: v1.KindExperiment, WorkspaceID: w}
		if auth.Can(who, auth.View, in) {
			out.Views++
		}
		if auth.Can(who, auth.Create, in) {
			out.Edits++
		}
	}
	for _, o := range owned {
		is := auth.Object{Kind: v1.KindExperiment, OwnerID: u.ID, WorkspaceID: o.WorkspaceID}
		out.Owns += o.N
		if !auth.Can(who, auth.View, is) {
			out.LosesSight += o.N
		}
		if !auth.Can(who, auth.Change, is) {
			out.LosesControl += o.N
		}
	}
	return out
}
