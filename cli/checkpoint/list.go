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
	"github.com/detent-ml/detent/master/v1"
)

// NewList is the list of an experiment's checkpoints, a verb of det checkpoint and of det experiment.
func NewList(a *app.App, use string, aliases ...string) *cobra.Command {
	var best int
	var format output.Format
	cmd := &cobra.Command{
		Use:               use,
		Aliases:           aliases,
		Short:             "list the checkpoints of an experiment",
		Args:              args.Exactly("the ID of an experiment"),
		ValidArgsFunction: complete.Experiments(a),
		RunE: app.ByID(a, "an experiment", func(ctx context.Context, c *client.Client, id int, _ []string) error {
			q, page := v1.GetCheckpointsRequest{SortByAttr: "SORT_BY_END_TIME"}, client.Page{}
			if best > 0 {
				q.SortByAttr = "SORT_BY_SEARCHER_METRIC"
				page = client.Page{Limit: best, Single: true}
			}
			checkpoints, err := client.List(ctx, c, v1.ListExperimentCheckpoints, page, &q, id)
			if err != nil {
				return err
			}
			return format.Print(a.IO, render.Checkpoints(checkpoints), checkpoints)
		}),
	}
	cmd.Flags().Var((*count)(&best), "best", "only this number of checkpoints, ranked by the searcher's metric, the best first")
	format.Flags(cmd)
	return cmd
}
