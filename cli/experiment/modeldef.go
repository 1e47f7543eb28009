package experiment

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
)

func newDownloadModelDef(a *app.App) *cobra.Command {
	var dir string
	cmd := verb(a, "download-model-def EXPERIMENT_ID", "download the code of an experiment", func(ctx context.Context, c *client.Client, id int, _ []string) error {
		archive, err := c.ModelDef(ctx, id)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, fmt.Sprintf("experiment_%d_model_def.tgz", id))
		if err := os.WriteFile(path, archive, 0o666); err != nil {
			return fault.New(fault.Invalid, "cannot store the archive: %w", err)
		}
		fmt.Fprintf(a.IO.Err, "Wrote %s\n", path)
		return nil
	})
	cmd.Flags().StringVar(&dir, "output-dir", ".", "folder for the archive")
	return cmd
}
