// Package secret has the command det secret: the secrets in Vault that tasks may mount.
package secret

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// New is det secret.
func New(a *app.App) *cobra.Command {
	return noun.New("secret", "show which secrets your tasks may mount", []string{"secrets"}, nil, newList(a))
}

func newList(a *app.App) *cobra.Command {
	var format output.Format
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "list the names of the secrets that your tasks may mount",
		Args:    args.None,
		RunE:    app.Call(a, func(ctx context.Context, c *client.Client, _ []string) error { return runList(ctx, a, c, format) }),
	}
	format.Flags(cmd)
	return cmd
}

func runList(ctx context.Context, a *app.App, c *client.Client, format output.Format) error {
	list, err := client.List(ctx, c, v1.ListUserSecrets, client.Page{}, nil)
	if err != nil {
		return err
	}
	t := table.New("Name", "Keys", "Workspaces")
	for _, s := range list {
		keys, workspaces := "all", "all"
		if len(s.Keys) > 0 {
			keys = strings.Join(s.Keys, ", ")
		}
		if !s.Everywhere {
			workspaces = strings.Join(s.Workspaces, ", ")
		}
		t.Row(s.Name, keys, workspaces)
	}
	return format.Print(a.IO, t, list)
}
