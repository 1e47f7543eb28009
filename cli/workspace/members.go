package workspace

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
)

func newListMembers(a *app.App) *cobra.Command {
	var format output.Format
	cmd := &cobra.Command{
		Use:   "list-members NAME",
		Short: "list the users and groups with roles in a workspace",
		Args:  args.Exactly("the name of a workspace"),
		RunE: func(cmd *cobra.Command, given []string) error {
			return runListMembers(cmd.Context(), a, given[0], format)
		},
	}
	format.Flags(cmd)
	return cmd
}

func runListMembers(ctx context.Context, a *app.App, name string, format output.Format) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	w, err := c.WorkspaceByName(ctx, name)
	if err != nil {
		return err
	}
	m, err := c.WorkspaceMembers(ctx, w.ID)
	if err != nil {
		return err
	}
	users, groups := map[int]string{}, map[int]string{}
	for _, u := range m.UsersAssignedDirectly {
		users[u.ID] = u.Username
	}
	for _, g := range m.Groups {
		groups[g.GroupID] = g.Name
	}
	t := table.New("User/Group Name", "User/Group", "Role Name")
	for _, r := range m.Assignments {
		for _, x := range r.UserRoleAssignments {
			t.Row(users[x.UserID], "U", r.Role.Name)
		}
		for _, x := range r.GroupRoleAssignments {
			t.Row(groups[x.GroupID], "G", r.Role.Name)
		}
	}
	return format.Print(a.IO, t, m)
}
