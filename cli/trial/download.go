package trial

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/download"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/fetch"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
)

type downloadOptions struct {
	best, latest bool
	uuid         string
	dir          string
	sortBy       string
	smaller      args.OneOf
	quiet        bool
}

func newDownload(a *app.App) *cobra.Command {
	var o downloadOptions
	cmd := &cobra.Command{
		Use:   "download TRIAL_ID",
		Short: "download a checkpoint of a trial",
		Args:  args.Exactly("the ID of a trial"),
		RunE: app.Checked(a, aTrial, o.check, func(ctx context.Context, c *client.Client, id int, _ []string) error {
			return runDownload(ctx, a, c, id, o)
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&o.best, "best", false, "the checkpoint with the best validation metric")
	f.BoolVar(&o.latest, "latest", false, "the newest checkpoint")
	f.StringVar(&o.uuid, "uuid", "", "the checkpoint with this UUID")
	cmd.MarkFlagsMutuallyExclusive("best", "latest", "uuid")
	cmd.MarkFlagsOneRequired("best", "latest", "uuid")
	f.StringVarP(&o.dir, "output-dir", "o", "", "folder for its files (default checkpoints/<uuid>)")
	f.StringVar(&o.sortBy, "sort-by", "", "with --best: validation metric that ranks the checkpoints (default: the searcher's)")
	o.smaller.Allowed = []string{"true", "false"}
	f.Var(&o.smaller, "smaller-is-better", "whether smaller values of --sort-by are better")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print the path only")
	return cmd
}

func (o *downloadOptions) check(context.Context) error {
	switch {
	case o.sortBy != "" && !o.best:
		return &exit.UsageError{Message: "--sort-by requires --best"}
	case (o.sortBy == "") != (o.smaller.Value == ""):
		return &exit.UsageError{Message: "--sort-by and --smaller-is-better go together"}
	}
	return nil
}

func runDownload(ctx context.Context, a *app.App, c *client.Client, id int, o downloadOptions) error {
	k, err := o.find(ctx, c, id)
	if err != nil {
		return err
	}
	return download.Run(ctx, a, download.Options{Client: c, Checkpoint: k, Dir: o.dir, Mode: fetch.Auto, Quiet: o.quiet})
}

func (o downloadOptions) find(ctx context.Context, c *client.Client, id int) (*v1.Checkpoint, error) {
	if o.uuid != "" {
		return c.Checkpoint(ctx, o.uuid)
	}
	q := download.Best(o.sortBy, o.smaller.Value)
	if o.latest {
		q.SortByAttr, q.SortByMetric, q.OrderBy = "SORT_BY_BATCH_NUMBER", "", "ORDER_BY_DESC"
	}
	for k, err := range client.Each(ctx, c, v1.ListTrialCheckpoints, client.Page{Limit: 1, Single: true}, &q, id) {
		return &k, err
	}
	return nil, fault.New(fault.NotFound, "trial %d has no checkpoint that can be downloaded", id)
}
