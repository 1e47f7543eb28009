package checkpoint

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/render"
	"github.com/detent-ml/detent/master/client"
)

type listOptions struct {
	experiment, best int
	format           output.Format
}

func newList(a *app.App) *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:               "list EXPERIMENT_ID",
		Aliases:           []string{"ls"},
		Short:             "list the checkpoints of an experiment",
		Args:              args.Exactly("the ID of an experiment"),
		ValidArgsFunction: complete.Experiments(a),
		RunE: func(cmd *cobra.Command, given []string) (err error) {
			if o.experiment, err = args.ID("an experiment", given[0]); err != nil {
				return err
			}
			return RunList(cmd.Context(), a, o.experiment, o.best, o.format)
		},
	}
	ListFlags(cmd, &o.best, &o.format)
	return cmd
}

// ListFlags adds the flags of a list of checkpoints.
func ListFlags(cmd *cobra.Command, best *int, format *output.Format) {
	cmd.Flags().Var((*count)(best), "best", "only this number of checkpoints, ranked by the searcher's metric, the best first")
	format.Flags(cmd)
}

// RunList prints the checkpoints of an experiment; best 0 means all. det experiment
// list-checkpoints also uses it.
func RunList(ctx context.Context, a *app.App, experiment, best int, format output.Format) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	q := client.CheckpointQuery{SortByAttr: "SORT_BY_END_TIME"}
	if best > 0 {
		q.SortByAttr = "SORT_BY_SEARCHER_METRIC"
		q.Page = client.Page{Limit: best, Single: true}
	}
	checkpoints, err := client.Collect(c.ExperimentCheckpoints(ctx, experiment, q))
	if err != nil {
		return err
	}
	return format.Print(a.IO, render.Checkpoints(checkpoints), checkpoints)
}
