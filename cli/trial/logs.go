package trial

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/logs"
	"github.com/detent-ml/detent/master/client"
)

func newLogs(a *app.App) *cobra.Command {
	var o logs.Options
	var query client.LogQuery
	cmd := &cobra.Command{
		Use:   "logs TRIAL_ID",
		Short: "print the log of a trial",
		Args:  args.Exactly("the ID of a trial"),
		RunE: app.Checked(a, aTrial, func(context.Context) (err error) {
			query, err = o.Query()
			return err
		}, func(ctx context.Context, c *client.Client, id int, _ []string) error {
			return o.Print(ctx, a.IO, c.TrialLogs(ctx, id, query), logs.OfTrial(id))
		}),
	}
	o.Flags(cmd, false)
	return cmd
}
