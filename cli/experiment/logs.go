package experiment

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/logs"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
)

func newLogs(a *app.App) *cobra.Command {
	var o logs.Options
	var query client.LogQuery
	cmd := &cobra.Command{
		Use:               "logs EXPERIMENT_ID",
		Short:             "print the log of the first trial of an experiment",
		Args:              args.Exactly("the ID of an experiment"),
		ValidArgsFunction: complete.Experiments(a),
		RunE: app.Checked(a, anExperiment, func(context.Context) (err error) {
			query, err = o.Query()
			return err
		}, func(ctx context.Context, c *client.Client, id int, _ []string) error {
			return runLogs(ctx, a, c, id, &o, query)
		}),
	}
	o.Flags(cmd, false)
	return cmd
}

func runLogs(ctx context.Context, a *app.App, c *client.Client, id int, o *logs.Options, query client.LogQuery) error {
	find := lowestTrial
	if o.Follow {
		find = firstTrial // with --follow, wait for the first trial
	}
	trial, err := find(ctx, c, id)
	if err != nil {
		return err
	}
	if trial == 0 {
		return fault.New(fault.NotFound, "experiment %d has no trial yet, so it has no log", id)
	}
	err = o.Print(ctx, a.IO, c.TrialLogs(ctx, trial, query), logs.OfTrial(trial))
	if !o.Follow || o.JSON {
		return err
	}
	if ctx.Err() != nil {
		interrupted(a, c, id)
	}
	if err != nil {
		return err
	}
	// The log has been printed, whatever the experiment came to.
	var status exit.Status
	if err = outcome(ctx, a, c, id, trial); errors.As(err, &status) {
		return nil
	}
	return err
}
