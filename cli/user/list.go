package user

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/optional"
	v1 "github.com/detent-ml/detent/master/v1"
)

type listOptions struct {
	all, service bool
	format       output.Format
}

func newList(a *app.App) *cobra.Command {
	var o listOptions
	cmd := app.List(a, "list users", func(ctx context.Context, c *client.Client) error {
		users, err := client.List(ctx, c, v1.ListUsers, client.Page{}, &v1.GetUsersRequest{Active: optional.NonZero(!o.all)})
		if err != nil {
			return err
		}
		if o.service {
			users = slices.DeleteFunc(users, func(u v1.User) bool { return !u.ServiceAccount })
		}
		t := table.New("User Id", "Username", "Display Name", "Admin", "Active", "Remote",
			"Agent Uid", "Agent Gid", "Agent User", "Agent Group")
		for _, u := range users {
			g := optional.Value(u.AgentUserGroup)
			t.Row(u.ID, u.Username, table.OrNA(shownName(u)), u.Admin, u.Active, u.Remote,
				table.OrNA(g.AgentUid), table.OrNA(g.AgentGid), table.OrNA(g.AgentUser), table.OrNA(g.AgentGroup))
		}
		return o.format.Print(a.IO, t, users)
	})
	cmd.Flags().BoolVarP(&o.all, "all", "a", false, "also list deactivated users")
	cmd.Flags().BoolVar(&o.service, "service-accounts", false, "list only service accounts")
	o.format.Flags(cmd)
	return cmd
}

// shownName is a user's display name in the table, whose columns are Determined's.
func shownName(u v1.User) string {
	switch {
	case !u.ServiceAccount:
		return u.DisplayName
	case u.DisplayName == "":
		return "(service account)"
	}
	return u.DisplayName + " (service account)"
}
