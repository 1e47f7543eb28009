package experiment

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/master/client"
	v1 "github.com/detent-ml/detent/master/v1"
)

type configOptions struct {
	json     bool
	original bool
}

func newConfig(a *app.App) *cobra.Command {
	var o configOptions
	cmd := verb(a, "config EXPERIMENT_ID", "print the complete configuration of an experiment", func(ctx context.Context, c *client.Client, id int, _ []string) error {
		resp, err := client.Call(ctx, c, v1.GetExperiment, id)
		if err != nil {
			return err
		}
		config := resp.Experiment.Config
		if len(config) <= len("{}") && len(resp.Config) > 0 {
			config = resp.Config
		}
		switch {
		case o.original:
			a.Printf("%s", resp.Experiment.OriginalConfig)
			return nil
		case o.json:
			return output.JSON(a.IO.Out, config)
		}
		return output.YAML(a.IO.Out, config)
	})
	cmd.Flags().BoolVar(&o.json, "json", false, "print as JSON")
	cmd.Flags().Bool("yaml", true, "print as YAML")
	cmd.Flags().BoolVar(&o.original, "original", false, "print the configuration as it was submitted")
	cmd.MarkFlagsMutuallyExclusive("json", "yaml", "original")
	return cmd
}
