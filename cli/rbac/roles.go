package rbac

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/each"
	v1 "github.com/detent-ml/detent/master/v1"
)

func newListRoles(a *app.App) *cobra.Command {
	var inWorkspaces bool
	var pages args.Pages
	var format output.Format
	cmd := app.Verb(a, "list-roles", "list roles with what they allow", func(ctx context.Context, c *client.Client) error {
		return runListRoles(ctx, a, c, inWorkspaces, pages, format)
	})
	cmd.Flags().BoolVar(&inWorkspaces, "exclude-global-roles", false, "leave out the roles that can be assigned only for the whole cluster")
	pages.Flags(cmd, 200)
	format.Flags(cmd)
	return cmd
}

func runListRoles(ctx context.Context, a *app.App, c *client.Client, inWorkspaces bool, pages args.Pages, format output.Format) error {
	var workspace *int
	if inWorkspaces {
		workspace = new(1) // any: it chooses the roles that workspaces can have
	}
	list, err := client.Collect(c.AssignableRoles(ctx, pages.Page(), workspace))
	if err != nil {
		return err
	}
	if format.Structured() || format.CSV {
		t := table.New("Role Id", "Name", "Id", "Permission", "Scope Type Mask")
		for _, r := range list {
			for _, p := range r.Permissions {
				t.Row(r.RoleID, r.Name, p.ID, p.Name, scopes(p.ScopeTypeMask))
			}
		}
		return format.Print(a.IO, t, v1.ListRolesResponse{Roles: list, Pagination: v1.Pagination{EndIndex: len(list), Total: len(list)}})
	}
	if len(list) == 0 {
		a.Printf("no roles found\n")
	}
	for _, r := range list {
		if err := printRole(a, r); err != nil {
			return err
		}
	}
	return nil
}

func printRole(a *app.App, r v1.Role) error {
	a.Printf("role '%s' with ID %d with permissions\n", r.Name, r.RoleID)
	if err := permissionTable(r.Permissions).Write(a.IO.Out); err != nil {
		return err
	}
	a.Printf("\n")
	return nil
}

func runDescribeRole(ctx context.Context, a *app.App, c *client.Client, role *v1.Role, format output.Format) error {
	r, err := c.RoleWithAssignments(ctx, role.RoleID)
	if err != nil {
		return err
	}
	if format.Structured() {
		return format.Messages(a.IO.Out, r)
	}
	known := newNames(c)
	groups := table.New("Group ID", "Group Name", "Workspace ID", "Workspace Name", "Assigned Globally")
	for _, g := range r.GroupRoleAssignments {
		group, in := known.group(ctx, g.GroupID), known.workspace(ctx, g.RoleAssignment.ScopeWorkspaceID)
		groups.Row(g.GroupID, group, g.RoleAssignment.ScopeWorkspaceID, in, g.RoleAssignment.ScopeCluster)
	}
	for _, everybodys := range r.EverybodysRoles {
		groups.Row(nil, "everybody", everybodys.ScopeWorkspaceID, known.workspace(ctx, everybodys.ScopeWorkspaceID), everybodys.ScopeCluster)
	}
	if known.err != nil {
		return known.err
	}
	users := table.New("User ID", "Username", "Workspace ID", "Workspace Name", "Assigned Globally")
	byID := map[int]string{}
	if len(r.UserRoleAssignments) > 0 {
		for u, err := range client.Each(ctx, c, v1.ListUsers, client.Page{}, nil) {
			if err != nil {
				return err
			}
			byID[u.ID] = u.Username
		}
	}
	for _, u := range r.UserRoleAssignments {
		in := known.workspace(ctx, u.RoleAssignment.ScopeWorkspaceID)
		users.Row(u.UserID, byID[u.UserID], u.RoleAssignment.ScopeWorkspaceID, in, u.RoleAssignment.ScopeCluster)
	}
	if known.err != nil {
		return known.err
	}
	if format.CSV {
		return users.CSV(a.IO.Out)
	}
	if err := printRole(a, *role); err != nil {
		return err
	}
	for _, part := range []struct {
		t             *table.Table
		none, heading string
	}{{groups, "role is not assigned to any group\n", "role is assigned to groups\n"}, {users, "role is not assigned to any users\n", "role is assigned to users\n"}} {
		if part.t.Len() == 0 {
			a.Printf("%s", part.none)
			continue
		}
		a.Printf("%s", part.heading)
		if err := part.t.Write(a.IO.Out); err != nil {
			return err
		}
		a.Printf("\n")
	}
	return nil
}

func newMyPermissions(a *app.App) *cobra.Command {
	var format output.Format
	cmd := app.Verb(a, "my-permissions", "list what you may do, by workspace", func(ctx context.Context, c *client.Client) error {
		return runMyPermissions(ctx, a, c, format)
	})
	format.FlagsWithoutCSV(cmd)
	return cmd
}

func runMyPermissions(ctx context.Context, a *app.App, c *client.Client, format output.Format) error {
	own, err := client.Call(ctx, c, v1.GetPermissionsSummary)
	if err != nil {
		return err
	}
	if format.Structured() {
		return format.Messages(a.IO.Out, own)
	}
	if err := remark(ctx, a, c); err != nil {
		return err
	}
	roles := each.Keyed(own.Roles, func(r v1.Role) int { return r.RoleID })
	var order []int // workspaces; 0 for the cluster
	allowed := map[int][]v1.Permission{}
	add := func(in int, role int) {
		if _, known := allowed[in]; !known {
			order = append(order, in)
		}
		for _, p := range roles[role].Permissions {
			if !slices.ContainsFunc(allowed[in], func(x v1.Permission) bool { return x.ID == p.ID }) {
				allowed[in] = append(allowed[in], p)
			}
		}
	}
	for _, s := range own.Assignments {
		if s.ScopeCluster {
			add(0, s.RoleID)
		}
		for _, in := range s.ScopeWorkspaceIDs {
			add(in, s.RoleID)
		}
	}
	if len(order) == 0 {
		a.Printf("no permissions assigned\n")
	}
	known := newNames(c)
	for _, in := range order {
		if in == 0 {
			a.Printf("global permissions assigned\n")
		} else {
			name := known.workspace(ctx, &in)
			if known.err != nil {
				return known.err
			}
			if name == nil {
				name = table.NA
			}
			a.Printf("permissions assigned over workspace '%v' with ID '%d'\n", name, in)
		}
		if err := permissionTable(allowed[in]).Write(a.IO.Out); err != nil {
			return err
		}
		a.Printf("\n")
	}
	return nil
}
