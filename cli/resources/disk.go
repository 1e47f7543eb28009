package resources

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/pack"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	v1 "github.com/detent-ml/detent/master/v1"
)

func newDisk(a *app.App) *cobra.Command {
	var format output.Format
	var users bool
	cmd := app.Verb(a, "disk", "list how much disk checkpoints, logs and code of each workspace use", func(ctx context.Context, c *client.Client) error {
		if users {
			return runUsersDisk(ctx, a, c, format)
		}
		return runDisk(ctx, a, c, format)
	})
	cmd.Long = `List how much disk checkpoints, logs, code and metrics of each workspace use. With --users: what you store in the
database of the cluster; to administrators of the cluster, the 100 users who store the most.`
	cmd.Flags().BoolVar(&users, "users", false, "list users in place of workspaces")
	format.Flags(cmd)
	return cmd
}

func runDisk(ctx context.Context, a *app.App, c *client.Client, format output.Format) error {
	list, err := client.List(ctx, c, v1.ListDiskUse, client.Page{}, nil)
	if err != nil {
		return err
	}
	t := table.New("Workspace", "Checkpoints", "Checkpoint Bytes", "Log Bytes", "Code Bytes", "Metric Bytes")
	for _, u := range list {
		t.Row(u.Workspace, u.Checkpoints, u.CheckpointBytes, u.LogBytes, u.CodeBytes, u.MetricBytes)
	}
	return format.Print(a.IO, t, list)
}

func runUsersDisk(ctx context.Context, a *app.App, c *client.Client, format output.Format) error {
	resp, err := client.Send(ctx, c, v1.ListDiskUse, v1.GetListRequest{Window: v1.Window{Limit: 1}})
	if err != nil {
		return err
	}
	return format.Print(a.IO, usersTable(resp.Users, resp.UserLimit, format.CSV), resp.Users)
}

// usersTable has sizes for eyes, or bytes.
func usersTable(list []v1.UserDiskUse, limit int64, bytes bool) *table.Table {
	size, t := func(n int64) any { return pack.Size(n) }, table.New("User", "Code", "Logs", "Metrics", "Records", "All", "Limit")
	if bytes {
		size, t = func(n int64) any { return n }, table.New("User", "Code Bytes", "Log Bytes", "Metric Bytes", "Record Bytes", "All Bytes", "Limit")
	}
	for _, u := range list {
		t.Row(u.Username, size(u.CodeBytes), size(u.LogBytes), size(u.MetricBytes), size(u.RecordBytes),
			size(u.CodeBytes+u.LogBytes+u.MetricBytes+u.RecordBytes), size(limit))
	}
	return t
}
