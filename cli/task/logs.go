package task

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/logs"
)

func newLogs(a *app.App) *cobra.Command {
	var o logs.Options
	cmd := &cobra.Command{
		Use:   "logs TASK_ID",
		Short: "print the log of a task of any kind",
		Args:  args.Exactly("the ID of a task"),
		RunE: func(cmd *cobra.Command, given []string) error {
			return runLogs(cmd.Context(), a, given[0], &o)
		},
	}
	o.Flags(cmd, true)
	return cmd
}

func runLogs(ctx context.Context, a *app.App, id string, o *logs.Options) error {
	query, err := o.Query()
	if err != nil {
		return err
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	if id, err = expand(ctx, c, id); err != nil {
		return err
	}
	return o.Print(ctx, a.IO, c.TaskLogs(ctx, id, query), logs.OfTask(id))
}
