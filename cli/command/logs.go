package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/cli/internal/logs"
)

func newLogs(a *app.App) *cobra.Command {
	var o logs.Options
	cmd := &cobra.Command{
		Use:               "logs COMMAND_ID",
		Short:             "print the log of a command",
		Args:              args.Exactly("the ID of a command, or its beginning"),
		ValidArgsFunction: complete.Commands(a),
		RunE: func(cmd *cobra.Command, given []string) error {
			return runLogs(cmd.Context(), a, given[0], &o)
		},
	}
	o.Flags(cmd, true)
	return cmd
}

func runLogs(ctx context.Context, a *app.App, given string, o *logs.Options) error {
	query, err := o.Query()
	if err != nil {
		return err
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	id, err := expandOne(ctx, c, given)
	if err != nil {
		return err
	}
	return o.Print(ctx, a.IO, c.TaskLogs(ctx, id, query), logs.TaskEnded(id))
}
