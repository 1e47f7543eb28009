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

const deleteQuestion = `This deletes the experiment with all its logs, metrics and checkpoints.
It cannot be undone; det experiment archive only hides an experiment.
Delete it?`

func newDelete(a *app.App) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:               "delete EXPERIMENT_ID",
		Short:             "delete an experiment with its logs and checkpoints",
		Args:              args.Exactly("the ID of an experiment"),
		ValidArgsFunction: complete.Experiments(a),
		RunE: app.Checked(a, anExperiment, func(ctx context.Context) error {
			if yes {
				return nil
			}
			return a.Agreed(ctx, deleteQuestion, "Aborting experiment deletion.")
		}, func(ctx context.Context, c *client.Client, id int, _ []string) error {
			return a.Say(client.Act(ctx, c, v1.DeleteExperiment, id), "Deletion of experiment %d is in progress\n", id)
		}),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

func newDeleteEvents(a *app.App) *cobra.Command {
	return verb(a, "delete-tb-files EXPERIMENT_ID", "delete the TensorBoard files of an experiment", func(ctx context.Context, c *client.Client, id int, _ []string) error {
		return client.Act(ctx, c, v1.RemoveTensorboardFiles, id)
	})
}
