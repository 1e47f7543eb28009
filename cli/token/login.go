package token

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
)

func newLogin(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "login TOKEN",
		Short: "sign in with an access token; - reads it from the standard input",
		Long: `Signs in with an access token; later commands act as its user.

The arguments of a process can be read by everybody on the machine: with - in the
place of the token det reads it from the standard input, or asks for it.`,
		Args: args.Exactly("an access token"),
		RunE: func(cmd *cobra.Command, given []string) error { return runLogin(cmd.Context(), a, given[0]) },
	}
}

func runLogin(ctx context.Context, a *app.App, token string) error {
	if token == "-" {
		var err error
		if token, err = a.IO.Secret(ctx, "Access token: "); err != nil {
			return err
		}
	}
	return a.SignIn(ctx, token)
}
