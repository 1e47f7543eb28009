package checkpoint

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/download"
	"github.com/detent-ml/detent/cli/internal/fetch"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

type downloadOptions struct {
	dir   string
	quiet bool
	mode  args.OneOf
}

func newDownload(a *app.App) *cobra.Command {
	var o downloadOptions
	cmd := &cobra.Command{
		Use:   "download UUID",
		Short: "download a checkpoint",
		Long: `Downloads the files of a checkpoint.

If this machine can read the storage, det copies the files from there; otherwise it
downloads them through the master. --mode selects one of the two.`,
		Args: args.Exactly("the UUID of a checkpoint"),
		RunE: app.Find(a, (*client.Client).Checkpoint, func(ctx context.Context, c *client.Client, k *v1.Checkpoint, _ []string) error {
			return download.Run(ctx, a, download.Options{
				Client: c, Checkpoint: k, Dir: o.dir, Mode: fetch.Mode(o.mode.Value), Quiet: o.quiet,
			})
		}),
	}
	o.mode = args.OneOf{Value: string(fetch.Auto), Allowed: []string{string(fetch.Auto), string(fetch.Direct), string(fetch.Master)}}
	cmd.Flags().StringVarP(&o.dir, "output-dir", "o", "", "folder for its files (default checkpoints/<uuid>)")
	cmd.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "print the path only")
	cmd.Flags().Var(&o.mode, "mode", "how to fetch the files")
	return cmd
}
