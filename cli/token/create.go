package token

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/v1"
)

type createOptions struct {
	username, description string
	days                  int
	daysGiven, readOnly   bool
	format                output.Format
}

func newCreate(a *app.App) *cobra.Command {
	var o createOptions
	cmd := &cobra.Command{
		Use:   "create [USERNAME]",
		Short: "create an access token; det prints it once, and nobody can read it later",
		Long: `Creates an access token for yourself; an administrator can create one for another user.
A program signs in with it: det token login, DET_USER_TOKEN, or the header
Authorization: Bearer <token>. The token has its user's rights until it expires or
somebody revokes it; a new password does not end it.`,
		Example: "  det token create -e 90 -d 'nightly training'\n  det token create --read-only -d dashboards",
		Args:    args.Between(0, "a username"),

		RunE: func(cmd *cobra.Command, given []string) error {
			if len(given) > 0 {
				o.username = given[0]
			}
			o.daysGiven = cmd.Flags().Changed("expiration-days")
			return runCreate(cmd.Context(), a, o)
		},
	}
	cmd.Flags().IntVarP(&o.days, "expiration-days", "e", 0, "days until the token expires; -1 for never, where the cluster allows it; default is the cluster's")
	cmd.Flags().StringVarP(&o.description, "description", "d", "", "what the token is for")
	cmd.Flags().BoolVar(&o.readOnly, "read-only", false, "the token may only read")
	o.format.FlagsWithoutCSV(cmd)
	return cmd
}

func runCreate(ctx context.Context, a *app.App, o createOptions) error {
	req := v1.PostAccessTokenRequest{Description: optional.NonZero(o.description), ReadOnly: optional.NonZero(o.readOnly)}
	if o.daysGiven {
		lifespan := fmt.Sprintf("%dh", 24*o.days)
		switch {
		case o.days == -1:
			lifespan = "-1"
		case o.days < 1 || o.days > 100*366:
			return &exit.UsageError{Message: fmt.Sprintf("--expiration-days: expected 1 to %d days, or -1 for never, found %d", 100*366, o.days)}
		}
		req.Lifespan = &lifespan
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	if o.username != "" {
		u, err := c.UserByName(ctx, o.username)
		if err != nil {
			return err
		}
		req.UserID = u.ID
	} else {
		me, err := c.Me(ctx)
		if err != nil {
			return err
		}
		req.UserID = me.ID
	}
	made, err := client.Send(ctx, c, v1.CreateToken, req)
	if err != nil {
		return err
	}
	if o.format.Structured() {
		return o.format.Messages(a.IO.Out, made)
	}
	a.Printf("TokenID: %d\nAccess-Token: %s\n", made.TokenID, made.Token)
	return nil
}
