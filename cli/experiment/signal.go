package experiment

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/master/client"
)

// The verbs in this file send a request without a body.

func newPause(a *app.App) *cobra.Command {
	return newSignal(a, "pause", "preempt the trials until the experiment is activated", "Paused", (*client.Client).PauseExperiment)
}

func newActivate(a *app.App) *cobra.Command {
	cmd := newSignal(a, "activate", "continue a paused experiment", "Activated", (*client.Client).ActivateExperiment)
	cmd.Aliases = []string{"unpause"}
	return cmd
}

func newCancel(a *app.App) *cobra.Command {
	return newEnd(a, "cancel", "let the trials save a checkpoint, and end the experiment", "Canceled", (*client.Client).CancelExperiment)
}

func newKill(a *app.App) *cobra.Command {
	return newEnd(a, "kill", "end the trials at once", "Killed", (*client.Client).KillExperiment)
}

func newArchive(a *app.App) *cobra.Command {
	return newSignal(a, "archive", "hide an experiment from lists", "Archived", (*client.Client).ArchiveExperiment)
}

func newUnarchive(a *app.App) *cobra.Command {
	return newSignal(a, "unarchive", "show an archived experiment in lists again", "Unarchived", (*client.Client).UnarchiveExperiment)
}

func newSignal(a *app.App, verb, short, done string, send func(*client.Client, context.Context, int) error) *cobra.Command {
	return &cobra.Command{
		Use:               verb + " EXPERIMENT_ID...",
		Short:             short,
		Args:              args.AtLeastOne("the ID of an experiment"),
		ValidArgsFunction: complete.Experiments(a),
		RunE:              app.ForEach(a, "experiment", done, send),
	}
}

// newEnd is a signal that ends experiments. The master accepts it for an ended experiment, which it does not change.
func newEnd(a *app.App, verb, short, done string, send func(*client.Client, context.Context, int) error) *cobra.Command {
	cmd := newSignal(a, verb, short, done, send)
	cmd.RunE = app.ForEachTold(a, "experiment", func(c *client.Client, ctx context.Context, id int) (string, error) {
		before, err := ended(ctx, c, id)
		if err == nil {
			err = send(c, ctx, id)
		}
		if before != "" {
			return fmt.Sprintf("Experiment %d had already ended as %s", id, before), err
		}
		return fmt.Sprintf("%s experiment %d", done, id), err
	})
	return cmd
}
