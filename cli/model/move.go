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

func newMove(a *app.App) *cobra.Command {
	var workspace string
	cmd := &cobra.Command{
		Use:   "move NAME -w WORKSPACE",
		Short: "move a model to another workspace",
		Args:  args.Exactly(aModel),

		ValidArgsFunction: complete.Models(a),
		RunE: func(cmd *cobra.Command, given []string) error {
			if workspace == "" {
				return args.Wrong(cmd, "%s needs a workspace: -w WORKSPACE", cmd.CommandPath())
			}
			return runMove(cmd.Context(), a, given[0], workspace)
		},
	}
	cmd.Flags().StringVarP(&workspace, "workspace-name", "w", "", "the workspace")
	return cmd
}

func runMove(ctx context.Context, a *app.App, name, workspace string) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	w, err := c.WorkspaceByName(ctx, workspace)
	if err != nil {
		return err
	}
	_, err = client.Send(ctx, c, v1.MoveModel, v1.MoveModelRequest{ModelName: name, DestinationWorkspaceID: w.ID}, name)
	return a.SayDone(err, "Moved model %s to workspace %s", name, workspace)
}

func newArchive(a *app.App, archived bool) *cobra.Command {
	change, use, short, done := v1.ArchiveModel, "archive NAME", "archive a model; an archived model rejects changes and new versions", "Archived model "
	if !archived {
		change, use, short, done = v1.UnarchiveModel, "unarchive NAME", "restore a model from the archive", "Unarchived model "
	}
	return verb(a, use, short, func(ctx context.Context, c *client.Client, given []string) error {
		return a.SayDone(client.Act(ctx, c, change, given[0]), "%s%s", done, given[0])
	})
}
