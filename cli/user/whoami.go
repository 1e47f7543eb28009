package user

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
)

func newWhoami(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "whoami",
		Short: "print the user who is signed in",
		Args:  args.None,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runWhoami(cmd.Context(), a) },
	}
}

func runWhoami(ctx context.Context, a *app.App) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	me, err := c.Me(ctx)
	if err != nil {
		return err
	}
	a.Printf("You are logged in as user '%s'\n", me.Username)
	return nil
}
