package master

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/optional"
	v1 "github.com/detent-ml/detent/master/v1"
)

func newMessage(a *app.App) *cobra.Command {
	return noun.New("cluster-message", "set, show or clear the message to all users", nil, nil,
		newMessageSet(a), newMessageClear(a), newMessageGet(a))
}

type messageOptions struct {
	message, start, end, duration string
}

func newMessageSet(a *app.App) *cobra.Command {
	var o messageOptions
	cmd := &cobra.Command{
		Use:     "set -m MESSAGE",
		Short:   "set the message to all users; it replaces the message before",
		Example: "  det master cluster-message set -m 'Maintenance on Friday from 18:00' --duration 5d",
		Args:    args.None,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runMessageSet(cmd.Context(), a, o) },
	}
	// Determined has given -m to the message here, so the master has its long flag alone.
	cmd.Flags().StringVar(&a.Master, "master", "", "address of the master")
	cmd.Flags().StringVarP(&o.message, "message", "m", "", "the text")
	cmd.Flags().StringVarP(&o.start, "start", "s", "", "show the message from this time, such as 2021-10-26T23:17:12Z; default is now")
	cmd.Flags().StringVarP(&o.end, "end", "e", "", "show the message until this time; default is until the message is cleared")
	cmd.Flags().StringVarP(&o.duration, "duration", "d", "", "show the message this long, such as 24h, 5d or 2w; not with --end")
	return cmd
}

func runMessageSet(ctx context.Context, a *app.App, o messageOptions) error {
	req := v1.SetClusterMessageRequest{Message: o.message, Duration: optional.NonZero(o.duration)}
	if o.message == "" {
		return &exit.UsageError{Message: "provide a message with -m"}
	}
	if o.end != "" && o.duration != "" {
		return &exit.UsageError{Message: "use --end or --duration, not both"}
	}
	var err error
	if req.StartTime, err = timeOf("--start", o.start); err != nil {
		return err
	}
	if req.EndTime, err = timeOf("--end", o.end); err != nil {
		return err
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	_, err = client.Send(ctx, c, v1.SetClusterMessage, req)
	return err
}

// timeOf parses the time in a flag; nil for none.
func timeOf(flag, text string) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return nil, &exit.UsageError{Message: flag + ": expected a time as 2021-10-26T23:17:12Z, found " + text}
	}
	return &t, nil
}

func newMessageClear(a *app.App) *cobra.Command {
	cmd := app.Verb(a, "clear", "clear the message to all users", func(ctx context.Context, c *client.Client) error {
		return client.Act(ctx, c, v1.DeleteClusterMessage)
	})
	cmd.Flags().BoolP("clear", "c", false, "accepted for scripts that were written for Determined; has no effect")
	return cmd
}

func newMessageGet(a *app.App) *cobra.Command {
	var format output.Format
	cmd := app.Verb(a, "get", "print the message to all users, also one that is not shown now", func(ctx context.Context, c *client.Client) error {
		m, err := client.Call(ctx, c, v1.GetClusterMessage)
		if err != nil {
			return err
		}
		format.YAML = !format.JSON
		return format.Messages(a.IO.Out, m)
	})
	format.FlagsWithoutCSV(cmd)
	return cmd
}
