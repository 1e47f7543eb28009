package checkpoint

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

type rmOptions struct {
	uuids string // as they were given, comma-separated
	globs []string
	yes   bool
}

func newRm(a *app.App) *cobra.Command {
	var o rmOptions
	cmd := &cobra.Command{
		Use:   "rm UUID[,UUID…]",
		Short: "remove files from checkpoints",
		Long: `Removes the files of checkpoints that match a pattern.

Patterns are relative to the folder of a checkpoint: *.bin, sub/*, **/optimizer.pt.
A folder that matches is removed with all its files, and **/* matches all files.
Without a pattern no file is removed: the master only updates its list of the files
that exist.`,
		Args: args.Exactly("the UUIDs of checkpoints"),
		RunE: func(cmd *cobra.Command, given []string) error {
			o.uuids = given[0]
			return runRm(cmd.Context(), a, o)
		},
	}
	cmd.Flags().StringArrayVar(&o.globs, "glob", nil, "pattern of files to remove (may be repeated)")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	return cmd
}

func newDelete(a *app.App) *cobra.Command {
	var o rmOptions
	cmd := &cobra.Command{
		Use:   "delete UUID[,UUID…]",
		Short: "delete checkpoints with all their files",
		Args:  args.Exactly("the UUIDs of checkpoints"),
		RunE: func(cmd *cobra.Command, given []string) error {
			o.uuids = given[0]
			return runDelete(cmd.Context(), a, o)
		},
	}
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	return cmd
}

const (
	rmQuestion = `All files matching specified globs will be deleted in all checkpoints provided
in checkpoint storage. Do you still want to proceed?`
	deleteQuestion = `Deleting checkpoints will result in deletion of all data associated
with each checkpoint in the checkpoint storage. Do you still want to proceed?`
)

func runRm(ctx context.Context, a *app.App, o rmOptions) error {
	if !o.yes && len(o.globs) > 0 {
		if err := a.Agreed(ctx, rmQuestion, "Stopping removal of files from checkpoints."); err != nil {
			return err
		}
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	if _, err := client.Send(ctx, c, v1.RemoveCheckpointFiles, v1.CheckpointsRemoveFilesRequest{CheckpointUUIDs: listed(o.uuids), CheckpointGlobs: o.globs}); err != nil {
		return err
	}
	if len(o.globs) == 0 {
		a.Printf("No glob patterns provided, refreshing resources of checkpoints %s is in progress.\n", o.uuids)
		return nil
	}
	a.Printf("Removal of files from checkpoints %s is in progress.\n", o.uuids)
	return nil
}

func runDelete(ctx context.Context, a *app.App, o rmOptions) error {
	if !o.yes {
		if err := a.Agreed(ctx, deleteQuestion, "Stopping deletion of checkpoints."); err != nil {
			return err
		}
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	_, err = client.Send(ctx, c, v1.DeleteCheckpoints, v1.DeleteCheckpointsRequest{CheckpointUUIDs: listed(o.uuids)})
	return a.Say(err, "Deletion of checkpoints %s is in progress\n", o.uuids)
}

// listed splits a comma-separated list of UUIDs.
func listed(text string) []string {
	var out []string
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			out = append(out, word)
		}
	}
	return out
}
