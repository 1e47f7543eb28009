package experiment

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/master/fault"
)

type modelDefOptions struct {
	id  int
	dir string
}

func newDownloadModelDef(a *app.App) *cobra.Command {
	var o modelDefOptions
	cmd := &cobra.Command{
		Use:               "download-model-def EXPERIMENT_ID",
		Short:             "download the code of an experiment",
		Args:              args.Exactly("the ID of an experiment"),
		ValidArgsFunction: complete.Experiments(a),
		RunE: func(cmd *cobra.Command, given []string) (err error) {
			if o.id, err = args.ID(anExperiment, given[0]); err != nil {
				return err
			}
			return runDownloadModelDef(cmd.Context(), a, o)
		},
	}
	cmd.Flags().StringVar(&o.dir, "output-dir", ".", "folder for the archive")
	return cmd
}

func runDownloadModelDef(ctx context.Context, a *app.App, o modelDefOptions) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	archive, err := c.ModelDef(ctx, o.id)
	if err != nil {
		return err
	}
	path := filepath.Join(o.dir, fmt.Sprintf("experiment_%d_model_def.tgz", o.id))
	if err := os.WriteFile(path, archive, 0o666); err != nil {
		return fault.New(fault.Invalid, "cannot store the archive: %w", err)
	}
	fmt.Fprintf(a.IO.Err, "Wrote %s\n", path)
	return nil
}
