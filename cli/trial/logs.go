package trial

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
		Use:   "logs TRIAL_ID",
		Short: "print the log of a trial",
		Args:  args.Exactly("the ID of a trial"),
		RunE: func(cmd *cobra.Command, given []string) error {
			id, err := args.ID(aTrial, given[0])
			if err != nil {
				return err
			}
			return runLogs(cmd.Context(), a, id, &o)
		},
	}
	o.Flags(cmd, false)
	return cmd
}

func runLogs(ctx context.Context, a *app.App, id int, o *logs.Options) error {
	query, err := o.Query()
	if err != nil {
		return err
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	return o.Print(ctx, a.IO, c.TrialLogs(ctx, id, query), logs.OfTrial(id))
}
