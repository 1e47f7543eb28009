// Package dev has the command det dev: calls of the REST API by hand.
package dev

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/master/client"
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
		RunE: app.Call(a, func(ctx context.Context, c *client.Client, _ []string) error {
			if _, err := c.Me(ctx); err != nil { // replaces an expired token
				return err
			}
			a.Printf("%s\n", c.Token())
			return nil
		}),
	}
}
