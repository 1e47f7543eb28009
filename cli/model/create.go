package model

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/v1"
)

type createOptions struct {
	workspace string
	req       v1.PostModelRequest
	format    output.Format
}

func newCreate(a *app.App) *cobra.Command {
	var o createOptions
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "create a model",
		Args:  args.Exactly(aModel),
		RunE: app.Call(a, func(ctx context.Context, c *client.Client, given []string) error {
			o.req.Name = given[0]
			o.req.WorkspaceName = optional.NonZero(o.workspace)
			resp, err := client.Send(ctx, c, v1.CreateModel, o.req)
			if err != nil {
				return err
			}
			if o.format.Structured() {
				return o.format.Messages(a.IO.Out, &resp.Model)
			}
			return show(a, resp.Model, nil)
		}),
	}
	cmd.Flags().StringVarP(&o.workspace, "workspace-name", "w", "", "create the model in this workspace")
	cmd.Flags().StringVar(&o.req.Description, "description", "", "what the model is for")
	cmd.Flags().StringArrayVar(&o.req.Labels, "label", nil, "a label of the model (may be repeated)")
	o.format.FlagsWithoutCSV(cmd)
	return cmd
}
