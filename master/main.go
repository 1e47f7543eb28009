// det-master is the master of a Detent cluster: API and control loop.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	_ "golang.org/x/crypto/x509roots/fallback" // for images without certificates of authorities

	"github.com/detent-ml/detent/master/server"
	"github.com/detent-ml/detent/master/v1"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "det-master:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	root := &cobra.Command{Use: "det-master", Short: "Master of a Detent cluster", Version: v1.Version,
		SilenceErrors: true, SilenceUsage: true}
	var file string
	var set []string
	serve := &cobra.Command{Use: "serve", Short: "Serve the API and, when this master leads, run the control loop", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := server.LoadConfig(file, os.Environ(), set)
			if err != nil {
				return err
			}
			return server.Run(cmd.Context(), cfg, nil)
		}}
	serve.Flags().StringVar(&file, "config", "", "configuration file (YAML)")
	serve.Flags().StringArrayVar(&set, "set", nil, "a setting as key=value; may be repeated")
	check := &cobra.Command{Use: "check-config", Short: "Say what is wrong with a configuration", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := server.CheckConfig(file, os.Environ(), set); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "the configuration is good")
			return nil
		}}
	check.Flags().AddFlagSet(serve.Flags())
	root.AddCommand(serve, check)
	return root
}
