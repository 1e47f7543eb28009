package master

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/each"
	v1 "github.com/detent-ml/detent/master/v1"
)

type configSetOptions struct {
	level, color string
}

func newConfigSet(a *app.App) *cobra.Command {
	var o configSetOptions
	cmd := &cobra.Command{
		Use:   "set",
		Short: "change the level or the colour of the logs of all running masters",
		Long: "All running masters change the level or the colour of their logs immediately. A master that\n" +
			"starts later uses its configuration.",
		Example: "  det master config set --log.level DEBUG",
		Args:    args.None,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runConfigSet(cmd.Context(), a, o) },
	}
	cmd.Flags().StringVar(&o.level, "log.level", "", "lowest level of log lines: "+strings.Join(levelNames(), ", "))
	cmd.Flags().StringVar(&o.color, "log.color", "", "colour the levels in the logs: on or off")
	return cmd
}

func levelNames() []string {
	return each.Of(v1.LogLevels()[1:], func(l v1.LogLevel) string { return strings.TrimPrefix(string(l), "LOG_LEVEL_") })
}

func runConfigSet(ctx context.Context, a *app.App, o configSetOptions) error {
	var req v1.PatchMasterConfigRequest
	if o.color != "" {
		if o.color != "on" && o.color != "off" {
			return &exit.UsageError{Message: "--log.color: expected on or off, found " + o.color}
		}
		req.Config.Log.Color = o.color == "on"
		req.FieldMask.Paths = append(req.FieldMask.Paths, "log.color")
	}
	if o.level != "" {
		if !slices.Contains(levelNames(), o.level) {
			return &exit.UsageError{Message: "--log.level: expected one of " + strings.Join(levelNames(), ", ") + ", found " + o.level}
		}
		req.Config.Log.Level = v1.LogLevel("LOG_LEVEL_" + o.level)
		req.FieldMask.Paths = append(req.FieldMask.Paths, "log.level")
	}
	if len(req.FieldMask.Paths) == 0 {
		return &exit.UsageError{Message: "Please provide at least one argument to set master config. " +
			"Currently, the supported fields are --log.level and --log.color."}
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	if _, err := client.Send(ctx, c, v1.PatchMasterConfig, req); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(a.IO.Err, "The running masters use the new setting; a master that starts later uses its configuration."); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.IO.Out, "Successfully made changes to the master config.")
	return err
}
