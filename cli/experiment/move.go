package experiment

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/complete"
)

type moveOptions struct {
	id                 int
	workspace, project string
}

func newMove(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:               "move EXPERIMENT_ID WORKSPACE PROJECT",
		Short:             "move an experiment to another project",
		Args:              args.Exactly("the ID of an experiment", "the name of a workspace", "the name of a project"),
		ValidArgsFunction: complete.Experiments(a),
		RunE: func(cmd *cobra.Command, given []string) error {
			id, err := args.ID(anExperiment, given[0])
			if err != nil {
				return err
			}
			return runMove(cmd.Context(), a, moveOptions{id: id, workspace: given[1], project: given[2]})
		},
	}
}

func runMove(ctx context.Context, a *app.App, o moveOptions) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	p, err := c.ProjectByName(ctx, o.workspace, o.project)
	if err != nil {
		return err
	}
	if err := c.MoveExperiment(ctx, o.id, p.ID); err != nil {
		return err
	}
	a.Printf("Moved experiment %d to project \"%s\"\n", o.id, o.project)
	return nil
}
