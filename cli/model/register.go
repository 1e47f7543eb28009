package model

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/master/client"
	v1 "github.com/detent-ml/detent/master/v1"
)

type registerOptions struct {
	req    v1.PostModelVersionRequest
	format output.Format
}

func newRegister(a *app.App) *cobra.Command {
	var o registerOptions
	cmd := verb(a, "register-version NAME UUID", "register a checkpoint as the next version of a model", func(ctx context.Context, c *client.Client, given []string) error {
		o.req.CheckpointUUID = given[1]
		v, err := client.Send(ctx, c, v1.CreateModelVersion, o.req, given[0])
		if err != nil {
			return err
		}
		if o.format.Structured() {
			return o.format.Messages(a.IO.Out, v1.PostModelVersionResponse{ModelVersion: v.ModelVersion})
		}
		return show(a, v.ModelVersion.Model, []v1.ModelVersion{v.ModelVersion})
	}, "the UUID of a checkpoint")
	cmd.Long = `Registers a checkpoint as the next version of a model.

From then on no policy removes the checkpoint's files, and nobody can delete them until
the version is deleted. Everybody who may see the model may download the checkpoint.`
	cmd.Flags().StringVar(&o.req.Name, "name", "", "a name of the version")
	cmd.Flags().StringVar(&o.req.Comment, "comment", "", "a comment about the version")
	cmd.Flags().StringArrayVar(&o.req.Labels, "label", nil, "a label of the version (may be repeated)")
	o.format.FlagsWithoutCSV(cmd)
	return cmd
}
