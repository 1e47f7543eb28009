package user

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/master/client"
)

func newWhoami(a *app.App) *cobra.Command {
	return app.Verb(a, "whoami", "print the user who is signed in", func(ctx context.Context, c *client.Client) error {
		me, err := c.Me(ctx)
		return a.Say(err, "You are logged in as user '%s'\n", me.Username)
	})
}
