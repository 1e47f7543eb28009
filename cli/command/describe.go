package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/master/v1"
)

func newDescribe(a *app.App) *cobra.Command {
	var format output.Format
	cmd := &cobra.Command{
		Use:               "describe COMMAND_ID",
		Short:             "show a command",
		Args:              args.Exactly("the ID of a command, or its beginning"),
		ValidArgsFunction: complete.Commands(a),
		RunE: func(cmd *cobra.Command, given []string) error {
			return runDescribe(cmd.Context(), a, given[0], format)
		},
	}
	format.Flags(cmd)
	return cmd
}

func runDescribe(ctx context.Context, a *app.App, given string, format output.Format) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	id, err := expandOne(ctx, c, given)
	if err != nil {
		return err
	}
	resp, err := c.Command(ctx, id)
	if err != nil {
		return err
	}
	if format.Structured() {
		return format.Messages(a.IO.Out, resp.Command)
	}
	names, err := workspaceNames(ctx, c)
	if err != nil {
		return err
	}
	return format.Print(a.IO, commandTable([]v1.Command{resp.Command}, names), nil)
}

func newConfig(a *app.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "config COMMAND_ID",
		Short:             "print the configuration that a command runs with",
		Args:              args.Exactly("the ID of a command, or its beginning"),
		ValidArgsFunction: complete.Commands(a),
		RunE: func(cmd *cobra.Command, given []string) error {
			return runConfig(cmd.Context(), a, given[0], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func runConfig(ctx context.Context, a *app.App, given string, asJSON bool) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	id, err := expandOne(ctx, c, given)
	if err != nil {
		return err
	}
	resp, err := c.Command(ctx, id)
	if err != nil {
		return err
	}
	if asJSON {
		return output.JSON(a.IO.Out, resp.Config)
	}
	return output.YAML(a.IO.Out, resp.Config)
}
