package trial

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

func newKill(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "kill TRIAL_ID...",
		Short: "end a trial at once",
		Args:  args.AtLeastOne("the ID of a trial"),
		RunE: app.ForEachTold(a, "trial", func(c *client.Client, ctx context.Context, id int) (string, error) {
			before, err := c.Trial(ctx, id)
			if err != nil {
				return "", err
			}
			if err := client.Act(ctx, c, v1.KillTrial, id); err != nil {
				return "", err
			}
			switch before.State {
			case v1.TrialStateCompleted, v1.TrialStateCanceled, v1.TrialStateError:
				return fmt.Sprintf("Trial %d had already ended as %s", id, bare(before.State)), nil
			}
			return fmt.Sprintf("Killed trial %d", id), nil
		}),
	}
}
