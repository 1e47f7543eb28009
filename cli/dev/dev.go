// Package dev has the command det dev: calls of the REST API by hand.
package dev

import (
	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/noun"
)

// New returns the command det dev.
func New(a *app.App) *cobra.Command {
	return noun.New("dev", "call the REST API by hand", nil, nil, newAuthToken(a), newCurl(a))
}

func newAuthToken(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "auth-token",
		Short: "print the token of the session",
		Args:  args.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.Client(cmd.Context())
			if err != nil {
				return err
			}
			if _, err := c.Me(cmd.Context()); err != nil { // replaces an expired token
				return err
			}
			a.Printf("%s\n", c.Token())
			return nil
		},
	}
}
