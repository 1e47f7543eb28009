package resources

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

func newDisk(a *app.App) *cobra.Command {
	var format output.Format
	cmd := &cobra.Command{
		Use:   "disk",
		Short: "list how much disk checkpoints, logs and code of each workspace use",
		Args:  args.None,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runDisk(cmd.Context(), a, format) },
	}
	format.Flags(cmd)
	return cmd
}

func runDisk(ctx context.Context, a *app.App, format output.Format) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	list, err := client.Collect(c.DiskUse(ctx))
	if err != nil {
		return err
	}
	if list == nil {
		list = []v1.DiskUse{}
	}
	t := table.New("Workspace", "Checkpoints", "Checkpoint Bytes", "Log Bytes", "Code Bytes")
	for _, u := range list {
		t.Row(u.Workspace, u.Checkpoints, u.CheckpointBytes, u.LogBytes, u.CodeBytes)
	}
	return format.Print(a.IO, t, list)
}
