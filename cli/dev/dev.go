// Package dev has the command det dev: calls of the REST API by hand.
package dev

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/master/client"
)

// New returns the command det dev.
func New(a *app.App) *cobra.Command {
	return noun.New("dev", "call the REST API by hand", nil, nil, newAuthToken(a), newCurl(a))
}

func newAuthToken(a *app.App) *cobra.Command {
	return app.Verb(a, "auth-token", "print the token of the session", func(ctx context.Context, c *client.Client) error {
		if _, err := c.Me(ctx); err != nil { // replaces an expired token
			return err
		}
		a.Printf("%s\n", c.Token())
		return nil
	})
}
