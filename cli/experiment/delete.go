package experiment

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/master/client"
	v1 "github.com/detent-ml/detent/master/v1"
)

type deleteOptions struct {
	id  int
	yes bool
}

func newDelete(a *app.App) *cobra.Command {
	var o deleteOptions
	cmd := &cobra.Command{
		Use:               "delete EXPERIMENT_ID",
		Short:             "delete an experiment with its logs and checkpoints",
		Args:              args.Exactly("the ID of an experiment"),
		ValidArgsFunction: complete.Experiments(a),
		RunE: func(cmd *cobra.Command, given []string) (err error) {
			if o.id, err = args.ID(anExperiment, given[0]); err != nil {
				return err
			}
			return runDelete(cmd.Context(), a, o)
		},
	}
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	return cmd
}

const deleteQuestion = `This deletes the experiment with all its logs, metrics and checkpoints.
It cannot be undone; det experiment archive only hides an experiment.
Delete it?`

func runDelete(ctx context.Context, a *app.App, o deleteOptions) error {
	if !o.yes {
		if err := a.Agreed(ctx, deleteQuestion, "Aborting experiment deletion."); err != nil {
			return err
		}
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	return a.Say(client.Act(ctx, c, v1.DeleteExperiment, o.id), "Deletion of experiment %d is in progress\n", o.id)
}

func newDeleteEvents(a *app.App) *cobra.Command {
	return verb(a, "delete-tb-files EXPERIMENT_ID", "delete the TensorBoard files of an experiment", func(ctx context.Context, c *client.Client, id int, _ []string) error {
		return client.Act(ctx, c, v1.RemoveTensorboardFiles, id)
	})
}
