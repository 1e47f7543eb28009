package trial

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
)

func newKill(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "kill TRIAL_ID...",
		Short: "end a trial at once",
		Args:  args.AtLeastOne("the ID of a trial"),
		RunE: func(cmd *cobra.Command, given []string) error {
			ids, err := args.IDs(aTrial, given)
			if err != nil {
				return err
			}
			return runKill(cmd.Context(), a, ids)
		},
	}
}

func runKill(ctx context.Context, a *app.App, ids []int) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		err := c.KillTrial(ctx, id)
		if err != nil && len(ids) > 1 {
			return fmt.Errorf("trial %d: %w", id, err)
		}
		if err != nil {
			return err
		}
		a.Printf("Killed trial %d\n", id)
	}
	return nil
}
