package experiment

import (
	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/cli/internal/retention"
)

func newSetLogRetention(a *app.App) *cobra.Command {
	var days retention.Days
	cmd := &cobra.Command{
		Use:               "log-retention EXPERIMENT_ID (--days DAYS | --forever)",
		Short:             "set for how long the logs of an experiment's trials are kept",
		Args:              args.Exactly("the ID of an experiment"),
		ValidArgsFunction: complete.Experiments(a),
		RunE: func(cmd *cobra.Command, given []string) error {
			id, err := args.ID(anExperiment, given[0])
			if err != nil {
				return err
			}
			n, err := days.Value(cmd)
			if err != nil {
				return err
			}
			c, err := a.Client(cmd.Context())
			if err != nil {
				return err
			}
			return c.SetExperimentLogRetention(cmd.Context(), id, n)
		},
	}
	days.Flags(cmd)
	return cmd
}
