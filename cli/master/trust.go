package master

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/master/client"
	v1 "github.com/detent-ml/detent/master/v1"
)

func newTrustNomad(a *app.App) *cobra.Command {
	cmd := app.Verb(a, "trust-nomad", "confirm that jobs missing from Nomad are lost", func(ctx context.Context, c *client.Client) error {
		if err := client.Act(ctx, c, v1.TrustNomad); err != nil {
			return err
		}
		_, err := fmt.Fprintln(a.IO.Out, "The master will trust Nomad's state again.")
		return err
	})
	cmd.Long = "After Nomad was restored from an older state, or lost many jobs at once, the master\n" +
		"does not trust Nomad's state and pauses scheduling (see /health). Check that the missing\n" +
		"jobs are lost, then confirm it: the master then trusts Nomad's state again, until the next\n" +
		"alarm."
	return cmd
}
