package experiment

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/sleep"
	"github.com/detent-ml/detent/master/v1"
)

func newWait(a *app.App) *cobra.Command {
	var seconds float64
	cmd := &cobra.Command{
		Use:   "wait EXPERIMENT_ID",
		Short: "wait until an experiment ends",
		Long: `Waits until an experiment ends. The exit status is 0 only if it was completed,
9 if it was canceled or killed, 1 if it failed.

For a paused experiment the command fails at once, because a paused experiment
does not end.`,
		Args:              args.Exactly("the ID of an experiment"),
		ValidArgsFunction: complete.Experiments(a),
		RunE: app.Checked(a, anExperiment, func(context.Context) error {
			if !(seconds > 0) {
				return &exit.UsageError{Message: "--polling-interval must be more than 0 seconds"}
			}
			return nil
		}, func(ctx context.Context, c *client.Client, id int, _ []string) error {
			return runWait(ctx, a, c, id, time.Duration(seconds*float64(time.Second)))
		}),
	}
	cmd.Flags().Float64Var(&seconds, "polling-interval", 5, "seconds between two checks")
	return cmd
}

func runWait(ctx context.Context, a *app.App, c *client.Client, id int, interval time.Duration) error {
	// The pause doubles up to the interval, so that the end of a short experiment is noticed
	// early.
	for pause := min(100*time.Millisecond, interval); ; pause = min(2*pause, interval) {
		resp, err := client.Call(ctx, c, v1.GetExperiment, id)
		if err != nil {
			return err
		}
		switch state := resp.Experiment.State; {
		case state == v1.ExperimentStateCompleted:
			return nil
		case isFinal(state), state == v1.ExperimentStateDeleting:
			fmt.Fprintln(a.IO.Err, a.IO.ErrStyle().Red(fmt.Sprintf("Experiment %d ended as %s%s.", id, bare(state), because(resp.Experiment.Error))))
			return exit.Of(state)
		case state == v1.ExperimentStatePaused:
			fmt.Fprintf(a.IO.Err, "%s\nContinue it with `det experiment activate %d`.\n",
				a.IO.ErrStyle().Red(fmt.Sprintf("Experiment %d is paused; there is nothing to wait for.", id)), id)
			return exit.Status(exit.Failed)
		}
		if err := sleep.For(ctx, pause); err != nil {
			return err
		}
	}
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}
