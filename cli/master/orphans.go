package master

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	v1 "github.com/detent-ml/detent/master/v1"
)

func newOrphans(a *app.App) *cobra.Command {
	var format output.Format
	cmd := app.Verb(a, "orphans", "list Nomad jobs of this cluster that are not in the database", func(ctx context.Context, c *client.Client) error {
		found, err := client.Call(ctx, c, v1.ListOrphans)
		if err != nil {
			return err
		}
		t := table.New("Nomad Job", "Allocation ID", "Submitted", "First Seen", "To Be Stopped At")
		for _, o := range found.Orphans {
			t.Row(o.JobID, o.AllocationID, table.Time(&o.SubmittedAt), table.Time(&o.SeenAt), table.Time(&o.StopAt))
		}
		return format.Print(a.IO, t, found)
	})
	cmd.Long = "An orphan is a Nomad job with this cluster's id that is not in the database: an operator removed\n" +
		"its rows, or restored the database from a backup. The master stops an orphan an hour after\n" +
		"it first saw it, unless its row is in the database again."
	format.Flags(cmd)
	return cmd
}
