package experiment

import (
	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/checkpoint"
	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/cli/internal/output"
)

type listCheckpointsOptions struct {
	id, best int
	format   output.Format
}

func newListCheckpoints(a *app.App) *cobra.Command {
	var o listCheckpointsOptions
	cmd := &cobra.Command{
		Use:               "list-checkpoints EXPERIMENT_ID",
		Aliases:           []string{"lc"},
		Short:             "list the checkpoints of an experiment",
		Args:              args.Exactly("the ID of an experiment"),
		ValidArgsFunction: complete.Experiments(a),
		RunE: func(cmd *cobra.Command, given []string) (err error) {
			if o.id, err = args.ID(anExperiment, given[0]); err != nil {
				return err
			}
			return checkpoint.RunList(cmd.Context(), a, o.id, o.best, o.format)
		},
	}
	checkpoint.ListFlags(cmd, &o.best, &o.format)
	return cmd
}
