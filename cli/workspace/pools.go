package workspace

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	v1 "github.com/detent-ml/detent/master/v1"
)

func newListPools(a *app.App) *cobra.Command {
	var format output.Format
	cmd := verb(a, "list-pools NAME", "list the resource pools that a workspace may use", func(ctx context.Context, c *client.Client, w *v1.Workspace, given []string) error {
		resp, err := client.Send(ctx, c, v1.ListWorkspacePools, v1.GetListRequest{}, w.ID)
		if err != nil {
			return err
		}
		t := table.New("Workspace", "Available Resource Pools")
		t.Row(given[0], strings.Join(resp.ResourcePools, ", "))
		return format.Print(a.IO, t, resp.ResourcePools)
	})
	format.Flags(cmd)
	return cmd
}
