package template

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/optional"
	v1 "github.com/detent-ml/detent/master/v1"
)

type listOptions struct {
	details bool
	format  output.Format
}

func newList(a *app.App) *cobra.Command {
	var o listOptions
	cmd := app.List(a, "list templates", func(ctx context.Context, c *client.Client) error {
		all, err := client.Collect(c.Templates(ctx, client.Page{}))
		if err != nil {
			return err
		}
		workspaces, err := client.List(ctx, c, v1.ListWorkspaces, client.Page{}, nil)
		if err != nil {
			return err
		}
		names := each.Map(workspaces, func(w v1.Workspace) (int, string) { return w.ID, w.Name })
		headers := []string{"Name", "Workspace"}
		if o.details {
			headers = append(headers, "Config")
		}
		t := table.New(headers...)
		for _, one := range all {
			row := []any{one.Name, cmp.Or(names[one.WorkspaceID], "missing workspace")}
			if o.details {
				row = append(row, strings.TrimRight(source(one), "\n"))
			}
			t.Row(row...)
		}
		return o.format.Print(a.IO, t, all)
	})
	cmd.Flags().BoolVarP(&o.details, "details", "d", false, "also show the configurations")
	o.format.Flags(cmd)
	return cmd
}

// source is the document of a template.
func source(t v1.Template) string { return optional.Or(t.Source, output.Indented(t.Config)) }
