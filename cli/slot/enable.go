package slot

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/master/client"
)

func newEnable(a *app.App) *cobra.Command {
	cmd := change(a, true, nil)
	cmd.Use, cmd.Short = "enable AGENT_ID SLOT_ID", "allow new work on a slot again"
	return cmd
}

func newDisable(a *app.App) *cobra.Command {
	var drain bool
	cmd := change(a, false, &drain)
	cmd.Use, cmd.Short = "disable AGENT_ID SLOT_ID", "place no new work on a slot, and kill its task"
	cmd.Long = "Trials store a checkpoint and resume on other slots; other tasks are killed. With --drain\n" +
		"they run to their end. If a node is in several pools, the ID of a slot of the second pool\n" +
		"has the pool's name before the number: aux/0."
	cmd.Flags().BoolVar(&drain, "drain", false, "let running tasks run to their end")
	return cmd
}

func change(a *app.App, enable bool, drain *bool) *cobra.Command {
	return &cobra.Command{
		Args: args.Exactly("the ID of a node", "the ID of a slot"),
		RunE: app.Call(a, func(ctx context.Context, c *client.Client, given []string) error {
			done := "Enabled"
			var err error
			if enable {
				err = c.EnableSlot(ctx, given[0], given[1])
			} else {
				done, err = "Disabled", c.DisableSlot(ctx, given[0], given[1], drain != nil && *drain)
			}
			return a.Say(err, "%s slot %s of agent %s\n", done, given[1], given[0])
		}),
	}
}
