// Package token has the command det token: access tokens, with which programs sign in without a password.
package token

import (
	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/v1"
)

// New is det token.
func New(a *app.App) *cobra.Command {
	return noun.New("token", "manage access tokens, with which programs sign in", []string{"tkn"}, nil,
		newList(a), newDescribe(a), newCreate(a), newEdit(a), newRevoke(a), newLogin(a))
}

// show prints access tokens; the first columns are Determined's.
func show(a *app.App, format output.Format, list []v1.TokenInfo) error {
	t := table.New("ID", "User ID", "Description", "Created At", "Expires At", "Revoked", "Token Type", "Read Only", "Last Used")
	for _, token := range list {
		expiry := any("never")
		if token.Expiry != nil {
			expiry = *token.Expiry
		}
		t.Row(token.ID, token.UserID, token.Description, token.CreatedAt, expiry, token.Revoked, token.TokenType, token.ReadOnly, token.LastUsedAt)
	}
	return format.Print(a.IO, t, list)
}
