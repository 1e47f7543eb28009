package user

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// weaknesses are the weaknesses of a password, in words that follow "it ".
func weaknesses(password string) []string {
	var out []string
	if password == "" {
		return []string{"is blank"}
	}
	if len([]rune(password)) < 8 {
		out = append(out, "has fewer than 8 characters")
	}
	for _, rule := range []struct {
		is   func(rune) bool
		what string
	}{{unicode.IsUpper, "has no upper-case letter"}, {unicode.IsLower, "has no lower-case letter"}, {unicode.IsDigit, "has no digit"}} {
		if strings.IndexFunc(password, rule.is) < 0 {
			out = append(out, rule.what)
		}
	}
	return out
}

// warnWeak warns about a weak password. The user is "" for the user who runs det.
func warnWeak(a *app.App, user, password string) {
	if w := weaknesses(password); len(w) > 0 {
		change := strings.TrimSpace("det user change-password " + user)
		a.IO.Warn("This password is easy to guess: it %s. Change it with `%s`.", strings.Join(w, ", "), change)
	}
}

// newPassword asks for a password twice.
func newPassword(ctx context.Context, a *app.App, prompt string) (string, error) {
	first, err := a.IO.Secret(ctx, prompt)
	if err != nil {
		return "", err
	}
	second, err := a.IO.Secret(ctx, "Confirm password: ")
	if !a.IO.InTTY && fault.Is(err, fault.Invalid) { // the input of a program has one line, and no typing errors
		return first, nil
	}
	if err != nil {
		return "", err
	}
	if first != second {
		return "", fault.New(fault.Invalid, "the passwords do not match; nothing was changed")
	}
	return first, nil
}

// mayAdministrate fails if the user who runs det may not change other users, so that nobody types a password in vain.
// The master checks it again.
func mayAdministrate(ctx context.Context, c *client.Client) error {
	me, err := c.Me(ctx)
	if err != nil || me.Admin {
		return err
	}
	own, err := client.Call(ctx, c, v1.GetPermissionsSummary)
	if err != nil {
		return err
	}
	for _, r := range own.Roles {
		if slices.ContainsFunc(r.Permissions, func(p v1.Permission) bool { return p.ID == "PERMISSION_TYPE_ADMINISTRATE_USER" }) {
			return nil
		}
	}
	return fault.New(fault.Forbidden, "only an admin may change the password of another user")
}

func newChangePassword(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "change-password [USERNAME]",
		Short: "change your password, or as an admin that of another user",
		Args:  args.Between(0, "a username"),
		RunE: func(cmd *cobra.Command, given []string) error {
			target := "" // the user who is signed in
			if len(given) > 0 {
				target = given[0]
			}
			return runChangePassword(cmd.Context(), a, target)
		},
	}
}

func runChangePassword(ctx context.Context, a *app.App, target string) error {
	s, err := a.Session(ctx)
	if err != nil {
		return err
	}
	name := cmp.Or(target, s.User)
	u, err := s.Client.UserByName(ctx, name)
	if err != nil {
		return err
	}
	own := u.Username == strings.ToLower(s.User)
	old := ""
	if own {
		if old, err = a.IO.Secret(ctx, fmt.Sprintf("Current password of user '%s': ", name)); err != nil {
			return err
		}
	} else if err := mayAdministrate(ctx, s.Client); err != nil {
		return err
	}
	secret, err := newPassword(ctx, a, fmt.Sprintf("New password for user '%s': ", name))
	if err != nil {
		return err
	}
	if own {
		err = s.Client.ReplacePassword(ctx, u.ID, old, secret)
	} else {
		err = s.Client.SetPassword(ctx, u.ID, secret)
	}
	if err != nil {
		return err
	}
	warnWeak(a, "", secret)
	if !own {
		return nil
	}
	// A new password may end old sessions, so sign in again.
	resp, err := s.Client.Login(ctx, name, secret)
	if err != nil {
		return err
	}
	store, err := a.Store()
	if err != nil {
		return err
	}
	return store.SetToken(name, resp.Token, target == "")
}
