package model

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/order"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	v1 "github.com/detent-ml/detent/master/v1"
)

type listOptions struct {
	workspaces string // comma-separated
	labels     []string
	sort       order.Flags
	format     output.Format
}

func newList(a *app.App) *cobra.Command {
	var o listOptions
	cmd := app.List(a, "list models", func(ctx context.Context, c *client.Client) error {
		q := v1.GetModelsRequest{Labels: o.labels, Order: v1.Order{SortBy: o.sort.SortBy(), OrderBy: o.sort.OrderBy()}}
		if o.workspaces != "" {
			q.WorkspaceNames = strings.Split(o.workspaces, ",")
		}
		models, err := client.List(ctx, c, v1.ListModels, client.Page{}, &q)
		if err != nil {
			return err
		}
		t := table.New("ID", "Name", "Workspace ID", "Creation Time", "Last Updated Time", "Metadata")
		for _, m := range models {
			t.Row(m.ID, m.Name, m.WorkspaceID, table.Time(&m.CreationTime), table.Time(&m.LastUpdatedTime), output.Indented(m.Metadata))
		}
		return o.format.Print(a.IO, t, models)
	})
	cmd.Flags().StringVarP(&o.workspaces, "workspace-names", "w", "", "only the models of these workspaces, comma-separated")
	cmd.Flags().StringArrayVar(&o.labels, "label", nil, "only models with this label (may be repeated)")
	o.sort.Add(cmd, "last_updated_time", "name", "description", "creation_time", "num_versions", "workspace")
	o.format.Flags(cmd)
	return cmd
}
