package task

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/logs"
	"github.com/detent-ml/detent/master/client"
)

func newLogs(a *app.App) *cobra.Command {
	var o logs.Options
	cmd := &cobra.Command{
		Use:   "logs TASK_ID",
		Short: "print the log of a task of any kind",
		Args:  args.Exactly("the ID of a task"),
		RunE: func(cmd *cobra.Command, given []string) error {
			query, err := o.Query()
			if err != nil {
				return err
			}
			return app.Find(a, expand, func(ctx context.Context, c *client.Client, id string, _ []string) error {
				return o.Print(ctx, a.IO, c.TaskLogs(ctx, id, query), logs.OfTask(id))
			})(cmd, given)
		},
	}
	o.Flags(cmd, true)
	return cmd
}
