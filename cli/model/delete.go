package model

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/master/client"
	v1 "github.com/detent-ml/detent/master/v1"
)

func newDelete(a *app.App) *cobra.Command {
	return verb(a, "delete NAME", "delete a model with its versions; their checkpoints stay", func(ctx context.Context, c *client.Client, given []string) error {
		return a.SayDone(client.Act(ctx, c, v1.DeleteModel, given[0]), "Deleted model %s", given[0])
	})
}

func newDeleteVersion(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "delete-version NAME VERSION",
		Short: "delete a version of a model; its checkpoint stays",
		Args:  args.Exactly(aModel, aVersion),

		ValidArgsFunction: complete.Models(a),
		RunE: func(cmd *cobra.Command, given []string) error {
			number, err := versionNumber(given[1])
			if err != nil {
				return err
			}
			c, err := a.Client(cmd.Context())
			if err != nil {
				return err
			}
			return a.SayDone(client.Act(cmd.Context(), c, v1.DeleteModelVersion, given[0], number), "Deleted version %s of model %s", given[1], given[0])
		},
	}
}
