package experiment

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

func newMove(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:               "move EXPERIMENT_ID WORKSPACE PROJECT",
		Short:             "move an experiment to another project",
		Args:              args.Exactly("the ID of an experiment", "the name of a workspace", "the name of a project"),
		ValidArgsFunction: complete.Experiments(a),
		RunE: app.ByID(a, anExperiment, func(ctx context.Context, c *client.Client, id int, given []string) error {
			p, err := c.ProjectByName(ctx, given[1], given[2])
			if err != nil {
				return err
			}
			_, err = client.Send(ctx, c, v1.MoveExperiment, v1.MoveRequest{ExperimentID: id, DestinationProjectID: p.ID}, id)
			return a.Say(err, "Moved experiment %d to project \"%s\"\n", id, given[2])
		}),
	}
}
