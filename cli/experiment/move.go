package experiment

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/master/client"
	v1 "github.com/detent-ml/detent/master/v1"
)

func newMove(a *app.App) *cobra.Command {
	return verb(a, "move EXPERIMENT_ID WORKSPACE PROJECT", "move an experiment to another project", func(ctx context.Context, c *client.Client, id int, given []string) error {
		p, err := c.ProjectByName(ctx, given[1], given[2])
		if err != nil {
			return err
		}
		_, err = client.Send(ctx, c, v1.MoveExperiment, v1.MoveRequest{ExperimentID: id, DestinationProjectID: p.ID}, id)
		return a.Say(err, "Moved experiment %d to project \"%s\"\n", id, given[2])
	}, "the name of a workspace", "the name of a project")
}
