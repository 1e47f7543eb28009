package experiment

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/master/client"
)

func newLabel(a *app.App) *cobra.Command {
	return noun.New("label", "add and remove labels", nil, nil,
		newLabelVerb(a, "add", "add a label", "Added label '%s' to experiment %d\n", (*client.Client).AddLabel),
		newLabelVerb(a, "remove", "remove a label", "Removed label '%s' from experiment %d\n", (*client.Client).RemoveLabel))
}

type changeLabel func(*client.Client, context.Context, int, string) ([]string, error)

func newLabelVerb(a *app.App, verb, short, done string, change changeLabel) *cobra.Command {
	return &cobra.Command{
		Use:               verb + " EXPERIMENT_ID LABEL",
		Short:             short,
		Args:              args.Exactly("the ID of an experiment", "a label"),
		ValidArgsFunction: complete.Experiments(a),
		RunE: func(cmd *cobra.Command, given []string) error {
			id, err := args.ID(anExperiment, given[0])
			if err != nil {
				return err
			}
			return runLabel(cmd.Context(), a, id, given[1], done, change)
		},
	}
}

func runLabel(ctx context.Context, a *app.App, id int, label, done string, change changeLabel) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	if _, err := change(c, ctx, id, label); err != nil {
		return err
	}
	a.Printf(done, label, id)
	return nil
}
