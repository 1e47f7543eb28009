package task

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/master/client"
	v1 "github.com/detent-ml/detent/master/v1"
)

const cleanupLong = `Deletes the logs whose retention has ended now, instead of at the next time of the
schedule (retention_policy in the master's configuration). Only admins may. Where
there is much to delete, the master goes on after the command has ended.`

func newCleanupLogs(a *app.App) *cobra.Command {
	cmd := app.Verb(a, "cleanup-logs", "delete the logs whose retention has ended", func(ctx context.Context, c *client.Client) error {
		resp, err := client.Send(ctx, c, v1.CleanupLogs, v1.None{})
		return a.Say(err, "Deleted %d rows of log entries.\n", resp.RemovedCount)
	})
	cmd.Long = cleanupLong
	return cmd
}
