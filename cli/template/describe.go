package template

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

func newDescribe(a *app.App) *cobra.Command {
	var format output.Format
	cmd := &cobra.Command{
		Use:   "describe NAME",
		Short: "print the text of a template",
		Args:  args.Exactly("the name of a template"),

		ValidArgsFunction: complete.Templates(a),
		RunE: app.Find(a, (*client.Client).Template, func(ctx context.Context, c *client.Client, t *v1.Template, _ []string) error {
			if format.Structured() || format.CSV {
				row := table.New("Name", "Workspace ID", "Config")
				row.Row(t.Name, t.WorkspaceID, source(*t))
				return format.Print(a.IO, row, t)
			}
			a.Printf("%s\n", strings.TrimRight(source(*t), "\n"))
			return nil
		}),
	}
	format.Flags(cmd)
	return cmd
}
