package checkpoint

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/render"
)

type describeOptions struct {
	uuid   string
	format output.Format
}

func newDescribe(a *app.App) *cobra.Command {
	var o describeOptions
	cmd := &cobra.Command{
		Use:   "describe UUID",
		Short: "show a checkpoint",
		Args:  args.Exactly("the UUID of a checkpoint"),
		RunE: func(cmd *cobra.Command, given []string) error {
			o.uuid = given[0]
			return runDescribe(cmd.Context(), a, o)
		},
	}
	o.format.Flags(cmd)
	return cmd
}

func runDescribe(ctx context.Context, a *app.App, o describeOptions) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	k, err := c.Checkpoint(ctx, o.uuid)
	if err != nil {
		return err
	}
	if err := o.format.Print(a.IO, render.Checkpoint(k), k); err != nil || o.format.Structured() || o.format.CSV || len(k.Removals) == 0 {
		return err
	}
	a.Printf("\nWhat was removed of it:\n")
	return render.Removals(k.Removals).Write(a.IO.Out)
}
