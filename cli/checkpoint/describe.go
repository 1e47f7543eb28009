package checkpoint

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/render"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

func newDescribe(a *app.App) *cobra.Command {
	var format output.Format
	cmd := &cobra.Command{
		Use:   "describe UUID",
		Short: "show a checkpoint",
		Args:  args.Exactly("the UUID of a checkpoint"),
		RunE: app.Find(a, (*client.Client).Checkpoint, func(ctx context.Context, c *client.Client, k *v1.Checkpoint, _ []string) error {
			if err := format.Print(a.IO, render.Checkpoint(k), k); err != nil || format.Structured() || format.CSV || len(k.Removals) == 0 {
				return err
			}
			a.Printf("\nWhat was removed of it:\n")
			return render.Removals(k.Removals).Write(a.IO.Out)
		}),
	}
	format.Flags(cmd)
	return cmd
}
