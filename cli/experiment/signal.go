package experiment

import (
	"context"

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
	return newSignal(a, "cancel", "let the trials save a checkpoint, and end the experiment", "Canceled", (*client.Client).CancelExperiment)
}

func newKill(a *app.App) *cobra.Command {
	return newSignal(a, "kill", "end the trials at once", "Killed", (*client.Client).KillExperiment)
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
