// Package master has the command det master: information about the master.
package master

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/master/client"
	v1 "github.com/detent-ml/detent/master/v1"
)

// New returns the command det master.
func New(a *app.App) *cobra.Command {
	show := newConfigShow(a)
	return noun.New("master", "show the master's state, configuration and log", nil, nil,
		newInfo(a), noun.New("config", "show or change the master's configuration", nil, show, newConfigSet(a)), newLogs(a), newMessage(a), newOrphans(a), newTrustNomad(a))
}

func newInfo(a *app.App) *cobra.Command {
	var format output.Format
	cmd := &cobra.Command{
		Use:   "info",
		Short: "print the release and the ids of the master",
		Args:  args.None,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runInfo(cmd.Context(), a, format) },
	}
	format.FlagsWithoutCSV(cmd)
	return cmd
}

func runInfo(ctx context.Context, a *app.App, format output.Format) error {
	c, err := a.Anonymous() // needs no sign-in
	if err != nil {
		return err
	}
	info, err := client.Call(ctx, c, v1.GetMaster)
	if err != nil {
		return err
	}
	format.YAML = !format.JSON
	return format.Messages(a.IO.Out, info)
}

func newConfigShow(a *app.App) *cobra.Command {
	var format output.Format
	cmd := app.Verb(a, "show", "print the master's configuration, without secrets", func(ctx context.Context, c *client.Client) error {
		resp, err := client.Call(ctx, c, v1.GetMasterConfig)
		if err != nil {
			return err
		}
		if format.JSON {
			return output.JSON(a.IO.Out, resp.Config)
		}
		return output.YAML(a.IO.Out, resp.Config)
	})
	format.FlagsWithoutCSV(cmd)
	return cmd
}

type logsOptions struct {
	follow bool
	tail   int
}

func newLogs(a *app.App) *cobra.Command {
	var o logsOptions
	cmd := &cobra.Command{
		Use:   "logs",
		Short: "print the master's log",
		Args:  args.None,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runLogs(cmd.Context(), a, o) },
	}
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "follow the log")
	cmd.Flags().IntVar(&o.tail, "tail", 0, "print this many lines from the end")
	return cmd
}

func runLogs(ctx context.Context, a *app.App, o logsOptions) error {
	if o.tail < 0 {
		return &exit.UsageError{Message: "--tail must be 1 or more"}
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	for r, err := range c.MasterLogs(ctx, o.follow, -o.tail) {
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(a.IO.Out, output.LogLine(r.LogEntry)); err != nil {
			return err
		}
	}
	return nil
}
