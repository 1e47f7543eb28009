// Package retention is the verb set log-retention of experiments and trials.
package retention

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// Command sets for how long the logs of one thing are kept; noun is its kind with its article: a trial.
// request makes the request of the endpoint.
func Command(a *app.App, noun, short string, set v1.Endpoint[v1.RetainLogsRequest, v1.Empty], request func(id int, days *int) v1.RetainLogsRequest) *cobra.Command {
	var days Days
	cmd := &cobra.Command{
		Use:   "log-retention " + strings.ToUpper(noun[strings.LastIndexByte(noun, ' ')+1:]) + "_ID (--days DAYS | --forever)",
		Short: short,
		Args:  args.Exactly("the ID of " + noun),
		RunE: func(cmd *cobra.Command, given []string) error {
			id, err := args.ID(noun, given[0])
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
			_, err = client.Send(cmd.Context(), c, set, request(id, &n), id)
			return err
		},
	}
	days.Flags(cmd)
	return cmd
}

// Days are the flags --days and --forever.
type Days struct {
	days    int
	forever bool
}

// forever and most are the bounds of the number of days.
const (
	forever = -1
	most    = 32767
)

// Flags adds the flags.
func (d *Days) Flags(cmd *cobra.Command) {
	cmd.Flags().IntVar(&d.days, "days", 0, "keep the log for so many days after the end of the task: 0 deletes it soon, -1 keeps it for ever")
	cmd.Flags().BoolVar(&d.forever, "forever", false, "keep the log for ever")
}

// Value is the number of days; an error if the flags name none, or both.
func (d *Days) Value(cmd *cobra.Command) (int, error) {
	given := cmd.Flags().Changed("days")
	switch {
	case given == d.forever:
		return 0, &exit.UsageError{Message: "say for how long the log is kept, with --days or with --forever", Hint: "See `" + cmd.CommandPath() + " --help`."}
	case d.forever:
		return forever, nil
	case d.days < forever || d.days > most:
		return 0, &exit.UsageError{Message: "--days must be from -1 to 32767"}
	}
	return d.days, nil
}
