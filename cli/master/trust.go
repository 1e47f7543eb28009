package master

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
)

func newTrustNomad(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "trust-nomad",
		Short: "say that you have looked: what Nomad lacks now is gone",
		Long: "After Nomad was restored from an older state, or lost many jobs at once, the master\n" +
			"concludes nothing from what is missing and places nothing (see /health). When you have\n" +
			"looked and Nomad's picture is right, say so: the master then believes it, once.",
		Args: args.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return runTrustNomad(cmd.Context(), a) },
	}
}

func runTrustNomad(ctx context.Context, a *app.App) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	if err := c.TrustNomad(ctx); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.IO.Out, "The master will believe what Nomad says now.")
	return err
}
