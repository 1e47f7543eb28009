package user

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/master/fault"
)

func newLogin(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "login [USERNAME]",
		Short: "sign in; later commands act as this user",
		Long: `Signs in. Later commands act as this user.

The password is DET_PASS if that variable is set. Otherwise det asks for it, and
does not show it; without a terminal det reads the first line of the standard input.`,
		Args: args.Between(0, "a username"),
		RunE: func(cmd *cobra.Command, given []string) error {
			name := a.User
			if len(given) > 0 {
				name = cmp.Or(given[0], name)
			}
			return runLogin(cmd.Context(), a, name)
		},
	}
}

func runLogin(ctx context.Context, a *app.App, name string) error {
	if name == "" && !a.IO.InTTY && a.Env("DET_USER") != "" {
		name = a.Env("DET_USER")
	}
	var err error
	if name == "" {
		if name, err = a.IO.Line(ctx, "Username: "); err != nil {
			return err
		}
	}
	password, err := password(ctx, a, fmt.Sprintf("Password for user '%s': ", name))
	if err != nil {
		return err
	}
	c, err := a.Anonymous()
	if err != nil {
		return err
	}
	resp, err := c.Login(ctx, name, password)
	if fault.Is(err, fault.Unauthenticated) || fault.Is(err, fault.Forbidden) {
		return fault.Wrap(fault.Unauthenticated, err, "%s rejected the sign-in of %q: %s", c.Master(), name, err)
	}
	if err != nil {
		return err
	}
	store, err := a.Store()
	if err != nil {
		return err
	}
	warnWeak(a, "", password)
	return store.SetToken(resp.User.Username, resp.Token, true)
}

// password is DET_PASS, or what the user types.
func password(ctx context.Context, a *app.App, prompt string) (string, error) {
	if p, set := a.Lookup("DET_PASS"); set { // a blank password counts as set
		return p, nil
	}
	return a.IO.Secret(ctx, prompt)
}
