package workspace

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/each"
	v1 "github.com/detent-ml/detent/master/v1"
)

func newListMembers(a *app.App) *cobra.Command {
	var format output.Format
	cmd := verb(a, "list-members NAME", "list the users and groups with roles in a workspace", func(ctx context.Context, c *client.Client, w *v1.Workspace, _ []string) error {
		m, err := client.Send(ctx, c, v1.ListWorkspaceMembers, v1.GetWorkspaceMembersRequest{}, w.ID)
		if err != nil {
			return err
		}
		users := each.Map(m.UsersAssignedDirectly, func(u v1.User) (int, string) { return u.ID, u.Username })
		groups := each.Map(m.Groups, func(g v1.GroupDetails) (int, string) { return g.GroupID, g.Name })
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
	})
	format.Flags(cmd)
	return cmd
}
