// Package version has the command det version: the versions of det and of the master.
package version

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
)

// New returns the command det version.
func New(a *app.App) *cobra.Command {
	var format output.Format
	cmd := &cobra.Command{
		Use:   "version",
		Short: "print the versions of det and of the master",
		Args:  args.None,
		RunE:  func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), a, format) },
	}
	format.FlagsWithoutCSV(cmd)
	return cmd
}

func run(ctx context.Context, a *app.App, format output.Format) error {
	address, err := a.Address()
	if err != nil {
		return err
	}
	master := map[string]any{"master_address": address}
	failed := ask(ctx, a, master)
	raw, err := json.Marshal(map[string]any{
		"client": map[string]string{"version": v1.Compatible, "detent_version": v1.Version},
		"master": master,
	})
	if err != nil {
		return err
	}
	if format.JSON {
		err = output.JSON(a.IO.Out, raw)
	} else {
		err = output.YAML(a.IO.Out, raw)
	}
	if err != nil {
		return err
	}
	return failed // the client's own version is printed in any case
}

func ask(ctx context.Context, a *app.App, into map[string]any) error {
	c, err := a.Anonymous()
	if err != nil {
		return err
	}
	info, err := c.Info(ctx)
	if err != nil {
		return err
	}
	maps.Copy(into, info)
	if into["version"] == nil {
		return fault.New(fault.Internal, "the master at %s does not report its version", c.Master())
	}
	return nil
}
