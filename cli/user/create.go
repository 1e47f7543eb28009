package user

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

type createOptions struct {
	admin, remote, service bool
	password               string
}

func newCreate(a *app.App) *cobra.Command {
	var o createOptions
	cmd := &cobra.Command{
		Use:   "create USERNAME",
		Short: "create a user",
		Args:  args.Exactly("a username"),
		RunE: app.Call(a, func(ctx context.Context, c *client.Client, given []string) error {
			username := given[0]
			if o.password == "" && !o.remote && !o.service {
				var err error
				if o.password, err = newPassword(ctx, a, fmt.Sprintf("Password for user '%s': ", username)); err != nil {
					return err
				}
			}
			_, err := c.CreateUser(ctx, v1.User{Username: username, Admin: o.admin, Active: true, Remote: o.remote, ServiceAccount: o.service}, o.password)
			if err != nil {
				return err
			}
			if o.service {
				fmt.Fprintf(a.IO.Err, "Created service account %s. It signs in with an access token: det token create %s\n", username, username)
				return nil
			}
			fmt.Fprintf(a.IO.Err, "Created user %s.\n", username)
			if !o.remote {
				warnWeak(a, username, o.password)
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&o.admin, "admin", false, "the user is an admin")
	cmd.Flags().StringVar(&o.password, "password", "", "password (default: det asks for it)")
	cmd.Flags().BoolVar(&o.remote, "remote", false, "the user signs in through the identity provider only")
	cmd.Flags().BoolVar(&o.service, "service-account", false, "the user is a program, which signs in with access tokens only")
	for _, other := range []string{"admin", "password", "remote"} {
		cmd.MarkFlagsMutuallyExclusive("service-account", other)
	}
	return cmd
}
