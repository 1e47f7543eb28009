package trial

import (
	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/retention"
)

func newSet(a *app.App) *cobra.Command {
	return noun.New("set", "change a trial", nil, nil, newSetLogRetention(a))
}

func newSetLogRetention(a *app.App) *cobra.Command {
	var days retention.Days
	cmd := &cobra.Command{
		Use:   "log-retention TRIAL_ID (--days DAYS | --forever)",
		Short: "set for how long the log of a trial is kept",
		Args:  args.Exactly("the ID of a trial"),
		RunE: func(cmd *cobra.Command, given []string) error {
			id, err := args.ID(aTrial, given[0])
			if err != nil {
				return err
			}
			n, err := days.Value(cmd)
			if err != nil {
				return err
			}
			c, err := a.Client(cmd.Context())
			if err != nil {
				return err
			}
			return c.SetTrialLogRetention(cmd.Context(), id, n)
		},
	}
	days.Flags(cmd)
	return cmd
}
