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
)

func newDescribe(a *app.App) *cobra.Command {
	var format output.Format
	cmd := &cobra.Command{
		Use:   "describe NAME",
		Short: "print the text of a template",
		Args:  args.Exactly("the name of a template"),

		ValidArgsFunction: complete.Templates(a),
		RunE: func(cmd *cobra.Command, given []string) error {
			return runDescribe(cmd.Context(), a, given[0], format)
		},
	}
	format.Flags(cmd)
	return cmd
}

func runDescribe(ctx context.Context, a *app.App, name string, format output.Format) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	t, err := c.Template(ctx, name)
	if err != nil {
		return err
	}
	if format.Structured() || format.CSV {
		row := table.New("Name", "Workspace ID", "Config")
		row.Row(t.Name, t.WorkspaceID, source(*t))
		return format.Print(a.IO, row, t)
	}
	a.Printf("%s\n", strings.TrimRight(source(*t), "\n"))
	return nil
}
