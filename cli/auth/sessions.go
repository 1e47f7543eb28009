package auth

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	v1 "github.com/detent-ml/detent/master/v1"
)

func newSessions(a *app.App) *cobra.Command {
	return noun.New("sessions", "list and end sign-ins", nil, nil, newSessionList(a), newSessionEnd(a))
}

func newSessionList(a *app.App) *cobra.Command {
	var of v1.GetSessionsRequest
	var format output.Format
	cmd := app.List(a, "list where you are signed in", func(ctx context.Context, c *client.Client) error {
		return runSessionList(ctx, a, c, of, format)
	})
	cmd.Flags().StringVar(&of.Username, "of", "", "list where this user is signed in (administrators)")
	cmd.Flags().BoolVarP(&of.All, "all", "a", false, "list where all users are signed in (administrators)")
	cmd.MarkFlagsMutuallyExclusive("of", "all")
	format.Flags(cmd)
	return cmd
}

func runSessionList(ctx context.Context, a *app.App, c *client.Client, of v1.GetSessionsRequest, format output.Format) error {
	list, err := client.List(ctx, c, v1.ListSessions, client.Page{}, &of)
	if err != nil {
		return err
	}
	t := table.New("ID", "User", "Signed in", "Last use", "Expires", "Address", "With", "Program", "This one")
	for _, s := range list {
		t.Row(s.ID, s.Username, table.Time(s.CreatedAt), table.Time(s.LastUsedAt), table.Time(s.ExpiresAt), table.OrNA(s.Address),
			cmp.Or(s.Provider, "password"), table.OrNA(s.Agent), s.Current)
	}
	return format.Print(a.IO, t, list)
}

func newSessionEnd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "end SESSION_ID",
		Short: "end a sign-in, such as that of a lost laptop",
		Args:  args.Exactly("the id of a session"),
		RunE: app.ByID(a, "a session", func(ctx context.Context, c *client.Client, id int, _ []string) error {
			return a.Say(client.Act(ctx, c, v1.EndSession, id), "Ended session %d.\n", id)
		}),
	}
}
