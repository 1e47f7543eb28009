package user

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/session"
	"github.com/detent-ml/detent/master/fault"
)

func newLogout(a *app.App) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "logout",
		Short: "sign out",
		Args:  args.None,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runLogout(cmd.Context(), a, all) },
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "sign out all users whose sessions at this master are stored on this machine")
	return cmd
}

func runLogout(ctx context.Context, a *app.App, all bool) error {
	store, err := a.Store()
	if err != nil {
		return err
	}
	stored, err := store.Read()
	if err != nil {
		return err
	}
	users := stored.Users()
	if !all {
		users = []string{cmp.Or(a.User, stored.Active, session.DefaultUser)}
	}
	for _, name := range users {
		token := stored.Tokens[name]
		if token == "" {
			continue
		}
		if err := store.Drop(name); err != nil {
			return err
		}
		if err := end(ctx, a, token); err != nil {
			return err
		}
		fmt.Fprintf(a.IO.Err, "Signed out %s.\n", name)
	}
	return nil
}

// end ends the session on the master. A session that has already ended is no error.
func end(ctx context.Context, a *app.App, token string) error {
	c, err := a.WithToken(token)
	if err != nil {
		return err
	}
	if err := c.Logout(ctx); !fault.Is(err, fault.Unauthenticated) {
		return err
	}
	return nil
}
