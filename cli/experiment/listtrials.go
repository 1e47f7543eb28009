package experiment

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
)

type listTrialsOptions struct {
	pages  args.Pages
	format output.Format
}

func newListTrials(a *app.App) *cobra.Command {
	return ListTrials(a, "list-trials EXPERIMENT_ID", "lt")
}

// ListTrials is the command that lists the trials of an experiment; det trial also has it.
func ListTrials(a *app.App, use string, aliases ...string) *cobra.Command {
	var o listTrialsOptions
	cmd := &cobra.Command{
		Use:               use,
		Aliases:           aliases,
		Short:             "list the trials of an experiment",
		Args:              args.Exactly("the ID of an experiment"),
		ValidArgsFunction: complete.Experiments(a),
		RunE: app.ByID(a, anExperiment, func(ctx context.Context, c *client.Client, id int, _ []string) error {
			trials, err := client.Collect(c.Trials(ctx, id, o.pages.Page()))
			if err != nil {
				return err
			}
			t := table.New("Trial ID", "State", "H-Params", "Started", "Ended", "# of Batches")
			for _, trial := range trials {
				t.Row(trial.ID, bare(trial.State), output.Indented(trial.HParams),
					table.Time(&trial.StartTime), table.Time(trial.EndTime), trial.TotalBatchesProcessed)
			}
			return o.format.Print(a.IO, t, trials)
		}),
	}
	o.pages.Flags(cmd, 200)
	o.format.Flags(cmd)
	return cmd
}
