package tasks

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/logs"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/master/client"
)

// NewDescribe returns the command det <noun> describe.
func NewDescribe(a *app.App, k Kind) *cobra.Command {
	var format output.Format
	cmd := &cobra.Command{
		Use:               "describe " + k.placeholder(),
		Short:             "show a " + k.Noun,
		Args:              args.Exactly(k.ID()),
		ValidArgsFunction: k.Complete(a),
		RunE: k.on(a, func(ctx context.Context, c *client.Client, id string, _ []string) error {
			item, _, err := k.Get(ctx, c, id)
			if err != nil {
				return err
			}
			if format.Structured() {
				return format.Messages(a.IO.Out, item.Message)
			}
			names, err := workspaceNames(ctx, c, false)
			if err != nil {
				return err
			}
			return format.Print(a.IO, k.table([]Item{item}, names), nil)
		}),
	}
	format.Flags(cmd)
	return cmd
}

// NewConfig returns the command det <noun> config.
func NewConfig(a *app.App, k Kind) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "config " + k.placeholder(),
		Short:             "print the complete configuration of a " + k.Noun,
		Args:              args.Exactly(k.ID()),
		ValidArgsFunction: k.Complete(a),
		RunE: k.on(a, func(ctx context.Context, c *client.Client, id string, _ []string) error {
			_, config, err := k.Get(ctx, c, id)
			switch {
			case err != nil:
				return err
			case asJSON:
				return output.JSON(a.IO.Out, config)
			}
			return output.YAML(a.IO.Out, config)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// NewLogs returns the command det <noun> logs.
func NewLogs(a *app.App, k Kind) *cobra.Command {
	var o logs.Options
	cmd := &cobra.Command{
		Use:               "logs " + k.placeholder(),
		Short:             "print the log of a " + k.Noun,
		Args:              args.Exactly(k.ID()),
		ValidArgsFunction: k.Complete(a),
		RunE: func(cmd *cobra.Command, given []string) error {
			query, err := o.Query()
			if err != nil {
				return err
			}
			return k.on(a, func(ctx context.Context, c *client.Client, id string, _ []string) error {
				return o.Print(ctx, a.IO, c.TaskLogs(ctx, id, query), logs.OfTask(id))
			})(cmd, given)
		},
	}
	o.Flags(cmd, true)
	return cmd
}
