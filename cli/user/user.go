// Package user has the command det user: signing in and out, and managing users.
package user

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// New returns the command det user.
func New(a *app.App) *cobra.Command {
	return noun.New("user", "sign in and out, manage users", []string{"u"}, newList(a),
		newLogin(a), newLogout(a), newWhoami(a), newCreate(a), newActivate(a), newDeactivate(a),
		newChangePassword(a), newEdit(a), newRename(a), newLink(a))
}

// patch changes a user given by name.
func patch(ctx context.Context, a *app.App, name string, change v1.PatchUser) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	u, err := c.UserByName(ctx, name)
	if err != nil {
		return err
	}
	_, err = client.Send(ctx, c, v1.ChangeUser, change, u.ID)
	return err
}
