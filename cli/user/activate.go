package user

import (
	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/master/v1"
)

func newActivate(a *app.App) *cobra.Command {
	return newSetActive(a, "activate", "let a user sign in again", true)
}

func newDeactivate(a *app.App) *cobra.Command {
	return newSetActive(a, "deactivate", "prevent a user from signing in", false)
}

func newSetActive(a *app.App, verb, short string, active bool) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " USERNAME",
		Short: short,
		Args:  args.Exactly("a username"),
		RunE: func(cmd *cobra.Command, given []string) error {
			return patch(cmd.Context(), a, given[0], v1.PatchUser{Active: &active})
		},
	}
}
