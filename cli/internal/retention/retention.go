// Package retention has the flags that say for how many days logs are kept.
package retention

import (
	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/exit"
)

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
