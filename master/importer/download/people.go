package download

import (
	"context"
	"fmt"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// NoPassword is in the place of a hash: its cost is so high that nobody can sign in with it.
const NoPassword = "$2a$99$"

// people fetches users and groups, in place of those that are there.
func (d *copying) people(ctx context.Context) error {
	var users, accounts []row
	all, err := list(ctx, d.lists(), v1.ListUsers, askUsers, func(u v1.User) int { return u.ID })
	if err != nil {
		return err
	}
	for _, u := range all {
		if u.ServiceAccount { // of another Detent: a program
			continue
		}
		users = append(users, row{"id": u.ID, "username": u.Username, "password_hash": NoPassword, "admin": u.Admin, "active": u.Active, "display_name": u.DisplayName, "modified_at": u.ModifiedAt,
			"remote": u.Remote, "last_auth_at": u.LastAuthAt})
		if g := u.AgentUserGroup; g != nil && g.AgentUid != nil && g.AgentGid != nil {
			accounts = append(accounts, row{"user_id": u.ID, "user_": g.AgentUser, "uid": g.AgentUid, "group_": g.AgentGroup, "gid": g.AgentGid})
		}
	}
	groups, members, err := d.groups(ctx)
	if err != nil {
		return err
	}
	for _, u := range users { // Determined has a hidden group for each user, which has the user's roles
		id := u["id"].(int)
		groups = append(groups, row{"id": -id, "group_name": fmt.Sprintf("%dDeterminedPersonalGroup", id), "user_id": id})
		members = append(members, row{"user_id": id, "group_id": -id})
	}
	d.tell(int64(len(users) + len(groups)))
	return d.replace(ctx, []table{
		{"users", "id, username, password_hash, admin, active, display_name, modified_at, remote, last_auth_at", users},
		{"agent_user_groups", "user_id, user_, uid, group_, gid", accounts},
		{"groups", "id, group_name, user_id", groups},
		{"user_group_membership", "user_id, group_id", members},
	})
}

func askUsers(w v1.Window) v1.GetUsersRequest {
	return v1.GetUsersRequest{Window: w, Order: ascending("SORT_BY_USER_NAME")}
}

// A table has all its rows.
type table struct {
	name, columns string
	rows          []row
}

// replace puts rows in the place of all rows of tables.
func (d *copying) replace(ctx context.Context, list []table) error {
	return d.in(ctx, func(tx *database.DB) error {
		for _, t := range list {
			if err := tx.Exec(ctx, `DELETE FROM `+t.name); err != nil {
				return err
			}
			if err := put(ctx, tx, t.name, t.columns, t.rows); err != nil {
				return err
			}
		}
		return nil
	})
}

// groups fetches the groups that people have made, with their members.
func (d *copying) groups(ctx context.Context) (groups, members []row, err error) {
	list, err := whole(d.lists(), "the list of groups", func(limit, offset int) ([]v1.GroupSearchResult, int, error) {
		got, err := client.Send(ctx, d.c, v1.ListGroups, v1.GetGroupsRequest{Limit: limit, Offset: offset})
		return got.Groups, totalOf(got.Pagination), err
	}, func(found v1.GroupSearchResult) (int, v1.Group) { return found.Group.GroupID, found.Group })
	if absent(err) {
		d.note("the old master shows no groups")
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	for _, g := range list {
		full, err := client.Call(ctx, d.c, v1.GetGroup, g.GroupID)
		switch {
		case d.hidden(err, "the members of group "+g.Name):
		case fault.Is(err, fault.NotFound): // it was deleted meanwhile
			continue
		case err != nil:
			return nil, nil, err
		}
		groups = append(groups, row{"id": g.GroupID, "group_name": g.Name})
		for _, u := range full.Group.Users {
			members = append(members, row{"user_id": u.ID, "group_id": g.GroupID})
		}
	}
	return groups, members, nil
}

// An assigned role, of a group.
type assigned struct{ group, role, workspace int }

// roles fetches the roles of users and groups, if roles are in use.
func (d *copying) roles(ctx context.Context, inUse bool) error {
	names, given := map[int]string{}, map[assigned]bool{}
	if inUse {
		if err := d.rolesOfUsers(ctx, names, given); err != nil {
			return err
		}
		if err := d.rolesOfGroups(ctx, names, given); err != nil {
			return err
		}
	}
	var roles, scopes, assignments []row
	for id, name := range names {
		roles = append(roles, row{"id": id, "role_name": name})
	}
	for a := range given {
		scope := len(scopes) + 1
		var workspace any // none: the whole cluster
		if a.workspace > 0 {
			workspace = a.workspace
		}
		scopes = append(scopes, row{"id": scope, "scope_workspace_id": workspace})
		assignments = append(assignments, row{"group_id": a.group, "role_id": a.role, "scope_id": scope})
	}
	d.tell(int64(len(assignments)))
	return d.replace(ctx, []table{{"roles", "id, role_name", roles}, {"role_assignment_scopes", "id, scope_workspace_id", scopes}, {"role_assignments", "group_id, role_id, scope_id", assignments}})
}

func (d *copying) rolesOfUsers(ctx context.Context, names map[int]string, given map[assigned]bool) error {
	users, err := d.numbers(ctx, `SELECT id FROM users ORDER BY id`)
	if err != nil {
		return err
	}
	for _, user := range users {
		got, err := client.Call(ctx, d.c, v1.GetRolesAssignedToUser, user)
		if d.hidden(err, "the roles of some users") || fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return err
		}
		for _, r := range got.Roles {
			if r.Role == nil {
				continue
			}
			names[r.Role.RoleID] = r.Role.Name
			for _, a := range r.UserRoleAssignments {
				if a.UserID == user {
					given[assigned{-user, r.Role.RoleID, scopeOf(a.RoleAssignment)}] = true
				}
			}
		}
	}
	return nil
}

func scopeOf(a v1.RoleAssignment) int {
	if a.ScopeCluster || a.ScopeWorkspaceID == nil {
		return 0
	}
	return *a.ScopeWorkspaceID
}

func (d *copying) rolesOfGroups(ctx context.Context, names map[int]string, given map[assigned]bool) error {
	groups, err := d.numbers(ctx, `SELECT id FROM groups WHERE user_id IS NULL ORDER BY id`)
	if err != nil {
		return err
	}
	for _, group := range groups {
		got, err := client.Call(ctx, d.c, v1.GetRolesAssignedToGroup, group)
		if d.hidden(err, "the roles of some groups") || fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return err
		}
		for _, r := range got.Roles {
			names[r.RoleID] = r.Name
		}
		for _, a := range got.Assignments {
			if a.ScopeCluster {
				given[assigned{group, a.RoleID, 0}] = true
			}
			for _, workspace := range a.ScopeWorkspaceIDs {
				given[assigned{group, a.RoleID, workspace}] = true
			}
		}
	}
	return nil
}

// numbers reads numbers from the copied tables.
func (d *copying) numbers(ctx context.Context, sql string, args ...any) (list []int, err error) {
	err = d.in(ctx, func(tx *database.DB) (err error) {
		list, err = database.Scalars[int](ctx, tx, sql, args...)
		return err
	})
	return list, err
}
