package rbac

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	v1 "github.com/detent-ml/detent/master/v1"
)

func runUserRoles(ctx context.Context, a *app.App, c *client.Client, u *v1.User, format output.Format) error {
	found, err := client.Call(ctx, c, v1.GetRolesAssignedToUser, u.ID)
	if err != nil {
		return err
	}
	if format.Structured() {
		return format.Messages(a.IO.Out, found)
	}
	known := newNames(c)
	t := table.New("Role Name", "Role ID", "Assigned Directly To User", "Assigned To Group Name", "Assigned To Group ID", "Scope Cluster", "Scope Workspace Name", "Scope Workspace ID")
	for _, r := range found.Roles {
		for _, x := range r.UserRoleAssignments {
			in := known.workspace(ctx, x.RoleAssignment.ScopeWorkspaceID)
			t.Row(r.Role.Name, r.Role.RoleID, true, nil, nil, x.RoleAssignment.ScopeCluster, in, x.RoleAssignment.ScopeWorkspaceID)
		}
		for _, x := range r.GroupRoleAssignments {
			in, group := known.workspace(ctx, x.RoleAssignment.ScopeWorkspaceID), known.group(ctx, x.GroupID)
			t.Row(r.Role.Name, r.Role.RoleID, false, group, x.GroupID, x.RoleAssignment.ScopeCluster, in, x.RoleAssignment.ScopeWorkspaceID)
		}
		for _, x := range r.EverybodysRoles {
			t.Row(r.Role.Name, r.Role.RoleID, false, "everybody", nil, x.ScopeCluster, known.workspace(ctx, x.ScopeWorkspaceID), x.ScopeWorkspaceID)
		}
	}
	if known.err != nil {
		return known.err
	}
	if t.Len() == 0 && !format.CSV {
		a.Printf("user has no role assignments\n")
		return nil
	}
	return format.Print(a.IO, t, found)
}

func runGroupRoles(ctx context.Context, a *app.App, c *client.Client, g *v1.Group, format output.Format) error {
	found, err := client.Call(ctx, c, v1.GetRolesAssignedToGroup, g.GroupID)
	if err != nil {
		return err
	}
	if format.Structured() {
		return format.Messages(a.IO.Out, found)
	}
	known := newNames(c)
	all := table.New("Role Name", "Role ID", "Workspace ID", "Workspace Name", "Assigned Globally")
	for i, r := range found.Roles {
		t := table.New("Workspace ID", "Workspace Name", "Assigned Globally")
		if found.Assignments[i].ScopeCluster {
			t.Row(nil, nil, true)
			all.Row(r.Name, r.RoleID, nil, nil, true)
		}
		for _, id := range found.Assignments[i].ScopeWorkspaceIDs {
			in := known.workspace(ctx, &id)
			if known.err != nil {
				return known.err
			}
			t.Row(id, in, false)
			all.Row(r.Name, r.RoleID, id, in, false)
		}
		if format.CSV {
			continue
		}
		a.Printf("role '%s' with ID %d assigned\n", r.Name, r.RoleID)
		if err := t.Write(a.IO.Out); err != nil {
			return err
		}
		a.Printf("\n")
	}
	switch {
	case format.CSV:
		return all.CSV(a.IO.Out)
	case all.Len() == 0:
		a.Printf("group has no role assignments\n")
	}
	return nil
}

type assignOptions struct {
	workspace, user, group string
	everybody              bool
}

// newAssign makes assign-role and unassign-role.
func newAssign(a *app.App, give bool) *cobra.Command {
	var o assignOptions
	use, short := "assign-role", "assign a role to a user, a group or everybody"
	if !give {
		use, short = "unassign-role", "remove a role from a user, a group or everybody"
	}
	cmd := &cobra.Command{
		Use:     use + " ROLE_NAME",
		Short:   short,
		Example: "  det rbac " + use + " Editor -w vision --username-to-assign ada\n  det rbac " + use + " Viewer -g guests\n  det rbac " + use + " Editor --everybody",
		Args:    args.Exactly("the name of a role"),
		RunE:    func(cmd *cobra.Command, given []string) error { return runAssign(cmd.Context(), a, given[0], o, give) },
	}
	cmd.Flags().StringVarP(&o.workspace, "workspace-name", "w", "", "workspace in which the role holds; default is the whole cluster")
	cmd.Flags().StringVar(&o.user, "username-to-assign", "", "the user; -u selects the account that det uses")
	cmd.Flags().StringVarP(&o.group, "group-name-to-assign", "g", "", "the group")
	cmd.Flags().BoolVar(&o.everybody, "everybody", false, "all users, also those to come")
	return cmd
}

func runAssign(ctx context.Context, a *app.App, name string, o assignOptions, give bool) error {
	if given := []bool{o.user != "", o.group != "", o.everybody}; count(given) != 1 {
		return &exit.UsageError{Message: "must provide exactly one of --username-to-assign, --group-name-to-assign or --everybody"}
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	role, err := c.RoleByName(ctx, name)
	if err != nil {
		return err
	}
	to, scope := v1.RoleAssignment{Role: v1.Role{RoleID: role.RoleID}, ScopeCluster: true}, " globally"
	if o.workspace != "" {
		w, err := c.WorkspaceByName(ctx, o.workspace)
		if err != nil {
			return err
		}
		to.ScopeWorkspaceID, to.ScopeCluster, scope = &w.ID, false, " to workspace "+o.workspace
	}
	var req v1.AssignRolesRequest
	var whom string
	switch {
	case o.everybody:
		req.EverybodysRoles, whom = []v1.RoleAssignment{to}, "everybody"
	case o.user != "":
		u, err := c.UserByName(ctx, o.user)
		if err != nil {
			return err
		}
		req.UserRoleAssignments = []v1.UserRoleAssignment{{UserID: u.ID, RoleAssignment: to}}
		whom = fmt.Sprintf("user '%s' with ID %d", o.user, u.ID)
	default:
		g, err := c.GroupByName(ctx, o.group)
		if err != nil {
			return err
		}
		req.GroupRoleAssignments = []v1.GroupRoleAssignment{{GroupID: g.GroupID, RoleAssignment: to}}
		whom = fmt.Sprintf("group '%s' with ID %d", o.group, g.GroupID)
	}
	did, at := "assigned", "to"
	if give {
		_, err = client.Send(ctx, c, v1.AssignRoles, req)
	} else {
		did, at = "removed", "from"
		_, err = client.Send(ctx, c, v1.RemoveAssignments, v1.RemoveAssignmentsRequest(req))
	}
	if err != nil {
		return err
	}
	a.Printf("%s role '%s' with ID %d %s %s%s\n", did, role.Name, role.RoleID, at, whom, scope)
	if o.everybody {
		return nil // it holds at once, whether the master uses roles or not
	}
	return remark(ctx, a, c)
}

func count(given []bool) (n int) {
	for _, g := range given {
		if g {
			n++
		}
	}
	return n
}

func newPreview(a *app.App) *cobra.Command {
	var format output.Format
	cmd := app.Verb(a, "preview", "show what each user has with roles, before the master uses them", func(ctx context.Context, c *client.Client) error {
		p, err := client.Send(ctx, c, v1.PreviewAccess, v1.GetListRequest{})
		if err != nil {
			return err
		}
		t := table.New("Username", "Active", "Cluster Admin", "Views Workspaces", "Starts In Workspaces", "Experiments", "No Longer Seen", "No Longer Changed")
		for _, u := range p.Users {
			t.Row(u.Username, u.Active, u.ClusterAdmin, u.Views, u.Edits, u.Owns, u.LosesSight, u.LosesControl)
		}
		if err := format.Print(a.IO, t, p); err != nil || format.Structured() || format.CSV {
			return err
		}
		if p.InUse {
			a.Printf("The master uses roles. There are %d workspaces.\n", p.Workspaces)
			return nil
		}
		a.Printf("The master does not use roles yet: everybody sees all %d workspaces and changes what is their own. The table shows what users have with security.authz.type: rbac.\n", p.Workspaces)
		return nil
	})
	format.Flags(cmd)
	return cmd
}
