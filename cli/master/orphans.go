package master

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
)

func newOrphans(a *app.App) *cobra.Command {
	var format output.Format
	cmd := &cobra.Command{
		Use:   "orphans",
		Short: "list jobs in Nomad that carry this cluster's id and have no row in the database",
		Long: "A job in Nomad that carries this cluster's id and that the database does not know is an\n" +
			"orphan: its rows were removed by hand, or the database was restored from a backup. The\n" +
			"master stops it an hour after it was first seen, unless its row comes back.",
		Args: args.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return runOrphans(cmd.Context(), a, format) },
	}
	format.Flags(cmd)
	return cmd
}

func runOrphans(ctx context.Context, a *app.App, format output.Format) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	found, err := c.Orphans(ctx)
	if err != nil {
		return err
	}
	t := table.New("Nomad Job", "Allocation ID", "Submitted", "First Seen", "Stopped At")
	for _, o := range found.Orphans {
		t.Row(o.JobID, o.AllocationID, table.Time(&o.SubmittedAt), table.Time(&o.SeenAt), table.Time(&o.StopAt))
	}
	return format.Print(a.IO, t, found)
}
