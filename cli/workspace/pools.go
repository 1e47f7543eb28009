package workspace

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
)

func newListPools(a *app.App) *cobra.Command {
	var format output.Format
	cmd := &cobra.Command{
		Use:   "list-pools NAME",
		Short: "list the resource pools that a workspace may use",
		Args:  args.Exactly("the name of a workspace"),
		RunE: func(cmd *cobra.Command, given []string) error {
			return runListPools(cmd.Context(), a, given[0], format)
		},
	}
	format.Flags(cmd)
	return cmd
}

func runListPools(ctx context.Context, a *app.App, name string, format output.Format) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	w, err := c.WorkspaceByName(ctx, name)
	if err != nil {
		return err
	}
	pools, err := c.WorkspacePools(ctx, w.ID)
	if err != nil {
		return err
	}
	t := table.New("Workspace", "Available Resource Pools")
	t.Row(name, strings.Join(pools, ", "))
	return format.Print(a.IO, t, pools)
}
