package user

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/master/v1"
)

type editOptions struct {
	target                string
	displayName, username string
	remote, active, admin args.OneOf
}

func newEdit(a *app.App) *cobra.Command {
	var o editOptions
	cmd := &cobra.Command{
		Use:   "edit USERNAME",
		Short: "change a user",
		Args:  args.Exactly("a username"),
		RunE: func(cmd *cobra.Command, given []string) error {
			o.target = given[0]
			change, names := o.change(cmd.Flags().Changed)
			if len(names) == 0 {
				return args.Wrong(cmd, "nothing to change: name a field to change")
			}
			return runEdit(cmd.Context(), a, o, change, names)
		},
	}
	truth := []string{"true", "false"}
	o.remote.Allowed, o.active.Allowed, o.admin.Allowed = truth, truth, truth
	cmd.Flags().StringVar(&o.displayName, "display-name", "", "new display name")
	cmd.Flags().StringVar(&o.username, "username", "", "new username")
	cmd.Flags().Var(&o.remote, "remote", "the user signs in through the identity provider only: true or false")
	cmd.Flags().Var(&o.active, "active", "the user may sign in: true or false")
	cmd.Flags().Var(&o.admin, "admin", "the user is an admin: true or false")
	return cmd
}

// change converts the flags to a patch, and lists the fields by the names that users know.
func (o *editOptions) change(given func(flag string) bool) (v1.PatchUser, []string) {
	var p v1.PatchUser
	var names []string
	if given("display-name") {
		p.DisplayName, names = &o.displayName, append(names, "Display Name")
	}
	for _, f := range []struct {
		flag, name string
		value      string
		field      **bool
	}{
		{"remote", "Remote", o.remote.Value, &p.Remote},
		{"active", "Active", o.active.Value, &p.Active},
		{"admin", "Admin", o.admin.Value, &p.Admin},
	} {
		if given(f.flag) {
			*f.field, names = new(f.value == "true"), append(names, f.name)
		}
	}
	if given("username") {
		p.Username, names = &o.username, append(names, "Username")
	}
	return p, names
}

func runEdit(ctx context.Context, a *app.App, o editOptions, change v1.PatchUser, names []string) error {
	return a.Say(patch(ctx, a, o.target, change), "Changes made to the following fields: %s\n", strings.Join(names, ", "))
}

func newRename(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "rename USERNAME NEW_USERNAME",
		Short: "rename a user",
		Args:  args.Exactly("a username", "the new username"),
		RunE: func(cmd *cobra.Command, given []string) error {
			return patch(cmd.Context(), a, given[0], v1.PatchUser{Username: &given[1]})
		},
	}
}
