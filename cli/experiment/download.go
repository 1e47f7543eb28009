package experiment

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/cli/internal/download"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/fetch"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
)

type downloadOptions struct {
	dir     string
	topN    int
	sortBy  string
	smaller args.OneOf
	quiet   bool
}

func newDownload(a *app.App) *cobra.Command {
	var o downloadOptions
	cmd := &cobra.Command{
		Use:               "download EXPERIMENT_ID",
		Short:             "download the best checkpoints of an experiment",
		Args:              args.Exactly("the ID of an experiment"),
		ValidArgsFunction: complete.Experiments(a),
		RunE: app.Checked(a, anExperiment, o.check, func(ctx context.Context, c *client.Client, id int, _ []string) error {
			return runDownload(ctx, a, c, id, o)
		}),
	}
	f := cmd.Flags()
	f.StringVarP(&o.dir, "output-dir", "o", "checkpoints", "folder for the checkpoints")
	f.IntVar(&o.topN, "top-n", 1, "number of checkpoints")
	f.StringVar(&o.sortBy, "sort-by", "", "validation metric that ranks the checkpoints (default: the searcher's)")
	o.smaller.Allowed = []string{"true", "false"}
	f.Var(&o.smaller, "smaller-is-better", "whether smaller values of --sort-by are better")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print paths only")
	return cmd
}

func (o *downloadOptions) check(context.Context) error {
	if o.topN < 1 {
		return &exit.UsageError{Message: "--top-n must be 1 or more"}
	}
	if (o.sortBy == "") != (o.smaller.Value == "") {
		return &exit.UsageError{Message: "--sort-by and --smaller-is-better go together"}
	}
	return nil
}

func runDownload(ctx context.Context, a *app.App, c *client.Client, id int, o downloadOptions) error {
	q := download.Best(o.sortBy, o.smaller.Value)
	checkpoints, err := client.List(ctx, c, v1.ListExperimentCheckpoints, client.Page{Limit: o.topN, Single: true}, &q, id)
	if err != nil {
		return err
	}
	if len(checkpoints) == 0 {
		return fault.New(fault.NotFound, "experiment %d has no checkpoint that can be downloaded", id)
	}
	for i, k := range checkpoints {
		if i > 0 && !o.quiet {
			a.Printf("\n")
		}
		err := download.Run(ctx, a, download.Options{
			Client: c, Checkpoint: &k, Dir: filepath.Join(o.dir, k.UUID), Mode: fetch.Auto, Quiet: o.quiet,
		})
		if err != nil {
			return err
		}
	}
	return nil
}
