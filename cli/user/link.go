package user

import (
	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/master/v1"
)

func newLink(a *app.App) *cobra.Command {
	var user, group string
	var uid, gid int
	cmd := &cobra.Command{
		Use:   "link-with-agent-user USERNAME",
		Short: "set the account on nodes that a user's tasks run as",
		Long: "Sets the user id and group id that the containers of a user's tasks run as.\n" +
			"This account then owns the files that the tasks write to folders of the nodes.",
		Args: args.Exactly("a username"),
		RunE: func(cmd *cobra.Command, given []string) error {
			return patch(cmd.Context(), a, given[0], v1.PatchUser{AgentUserGroup: &v1.AgentUserGroup{
				AgentUid: &uid, AgentGid: &gid, AgentUser: &user, AgentGroup: &group,
			}})
		},
	}
	f := cmd.Flags()
	f.IntVar(&uid, "agent-uid", 0, "user id of the account")
	f.StringVar(&user, "agent-user", "", "name of the account")
	f.IntVar(&gid, "agent-gid", 0, "group id of the account")
	f.StringVar(&group, "agent-group", "", "name of the group")
	for _, name := range []string{"agent-uid", "agent-user", "agent-gid", "agent-group"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // unknown flag
		}
	}
	return cmd
}
