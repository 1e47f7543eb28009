package deploy

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/browser"
	"github.com/detent-ml/detent/nomad/local"
)

type nomadUIOptions struct {
	where
	noBrowser bool
}

func newNomadUI(a *app.App) *cobra.Command {
	var o nomadUIOptions
	cmd := &cobra.Command{
		Use:   "nomad-ui",
		Short: "open Nomad's UI in the browser, signed in",
		Long: `Opens Nomad's UI in the browser with all rights. The address contains a token that works once, within the next ten
minutes; do not pass it on.`,
		Args: args.None,
		RunE: o.on(func(ctx context.Context, c *local.Cluster) error { return runNomadUI(ctx, a, c, o.noBrowser) }),
	}
	o.flags(cmd)
	cmd.Flags().BoolVar(&o.noBrowser, "no-browser", false, "print the address and do not open a browser")
	return cmd
}

func runNomadUI(ctx context.Context, a *app.App, c *local.Cluster, noBrowser bool) error {
	link, err := c.NomadUI(ctx)
	if err != nil {
		return failed(ctx, err)
	}
	a.Printf("%s\n", link)
	if noBrowser {
		return nil
	}
	if err := browser.Open(ctx, a.Env, link); err != nil {
		a.IO.Warn("Could not open the browser: %s.", err)
	}
	return nil
}
