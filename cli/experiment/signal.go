package experiment

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// The verbs in this file send a request without a body, newSignal to one endpoint for each ID.

func newActivate(a *app.App) *cobra.Command {
	cmd := newSignal(a, "activate", "continue a paused experiment", "Activated", v1.ActivateExperiment)
	cmd.Aliases = []string{"unpause"}
	return cmd
}

func newSignal(a *app.App, verb, short, done string, send v1.Endpoint[v1.None, v1.Empty]) *cobra.Command {
	return &cobra.Command{
		Use:               verb + " EXPERIMENT_ID...",
		Short:             short,
		Args:              args.AtLeastOne("the ID of an experiment"),
		ValidArgsFunction: complete.Experiments(a),
		RunE:              app.ForEach(a, "experiment", done, send),
	}
}

// newEnd makes a command that ends experiments. For an experiment that has ended already, the master accepts the call
// and changes nothing.
func newEnd(a *app.App, verb, short, done string, send v1.Endpoint[v1.None, v1.Empty]) *cobra.Command {
	cmd := newSignal(a, verb, short, done, send)
	cmd.RunE = app.ForEachTold(a, "experiment", func(c *client.Client, ctx context.Context, id int) (string, error) {
		before, err := ended(ctx, c, id)
		if err == nil {
			err = client.Act(ctx, c, send, id)
		}
		if before != "" {
			return fmt.Sprintf("Experiment %d had already ended as %s", id, before), err
		}
		return fmt.Sprintf("%s experiment %d", done, id), err
	})
	return cmd
}
