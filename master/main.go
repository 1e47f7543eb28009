// det-master is the master of a Detent cluster: API and control loop.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/detent-ml/detent/master/cacerts"
	"github.com/detent-ml/detent/master/importer"
	"github.com/detent-ml/detent/master/importer/download"
	"github.com/detent-ml/detent/master/server"
	v1 "github.com/detent-ml/detent/master/v1"
)

func main() {
	cacerts.Provide()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "det-master:", err)
		os.Exit(status(err))
	}
}

// status returns the exit status, the same as det's: 2 for an invalid command line, and 1 for every
// later error, which a command returns as a failed.
func status(err error) int {
	if _, ok := errors.AsType[failed](err); ok {
		return 1
	}
	return 2
}

// failed is the error of a command that was understood.
type failed struct{ error }

func (f failed) Unwrap() error { return f.error }

// understood runs a command whose line makes sense.
func understood(run func(cmd *cobra.Command) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		if err := run(cmd); err != nil {
			return failed{err}
		}
		return nil
	}
}

func command() *cobra.Command {
	root := &cobra.Command{Use: "det-master", Short: "Master of a Detent cluster", Version: v1.Version,
		SilenceErrors: true, SilenceUsage: true}
	var file string
	var set []string
	serve := &cobra.Command{Use: "serve", Short: "Serve the API and, when this master leads, run the control loop", Args: cobra.NoArgs,
		RunE: understood(func(cmd *cobra.Command) error {
			cfg, err := server.LoadConfig(file, os.Environ(), set)
			if err != nil {
				return err
			}
			return server.Run(cmd.Context(), cfg, nil)
		})}
	serve.Flags().StringVar(&file, "config", "", "configuration file (YAML)")
	serve.Flags().StringArrayVar(&set, "set", nil, "a setting as key=value; may be repeated")
	check := &cobra.Command{Use: "check-config [FILE]", Short: "Say what is wrong with a configuration", Args: oneFile(&file),
		RunE: understood(func(cmd *cobra.Command) error {
			withoutEffect, err := server.CheckConfig(file, os.Environ(), set)
			for _, key := range withoutEffect {
				fmt.Fprintln(cmd.ErrOrStderr(), "warning:", key)
			}
			if err != nil {
				return err
			}
			what := "the configuration is good"
			if file == "" {
				what += "; it has no file (--config FILE)"
			}
			fmt.Fprintln(cmd.OutOrStdout(), what)
			return nil
		})}
	check.Flags().AddFlagSet(serve.Flags())
	version := &cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs, Run: func(cmd *cobra.Command, _ []string) {
		fmt.Fprintln(cmd.OutOrStdout(), cmd.Root().Name(), "version", v1.Version)
	}}
	bring := importCommand(func() (server.Config, error) { return server.LoadConfig(file, os.Environ(), set) })
	bring.Flags().AddFlagSet(serve.Flags())
	root.AddCommand(serve, check, bring, version)
	return root
}

// importCommand brings the history of a Determined cluster.
func importCommand(config func() (server.Config, error)) *cobra.Command {
	var o importer.Options
	var tokenFile string
	cmd := &cobra.Command{Use: "import --from postgres://… | https://…", Short: "Copy the history of a Determined cluster into Detent's database", Args: cobra.NoArgs,
		Long: `Copy the database of a Determined cluster (0.38.1, or its public fork up to 0.42) into Detent's: users with
their passwords, workspaces, experiments, trials, metrics, checkpoints, models and the accounts of the past.

Until people work in Detent, repeat the command as often as you like: it copies what has changed since.
The password of the old database can be in PGPASSWORD or PGPASSFILE. Where nobody can reach this database, --from is the
address of the old master: its REST API tells the same, but for passwords. DETENT_IMPORT_TOKEN, or DETENT_IMPORT_USER and
DETENT_IMPORT_PASSWORD, say who asks; --from-token-file names a file with the token. Docs: docs/operate/import.md`,
		RunE: understood(func(cmd *cobra.Command) error {
			cfg, err := config()
			if err != nil {
				return err
			}
			if o.Who, err = asker(os.Getenv, tokenFile); err != nil {
				return err
			}
			o.Out = cmd.OutOrStdout()
			file, isFile := o.Out.(*os.File)
			o.Lines = !isFile || !term.IsTerminal(int(file.Fd()))
			return server.Import(cmd.Context(), cfg, o)
		})}
	f := cmd.Flags()
	f.StringVar(&o.From, "from", "", "the address of the old database (postgres://user:password@host/determined), or of the old master (https://host:8080)")
	f.StringVar(&tokenFile, "from-token-file", "", "a file with a token of an administrator of the old master")
	f.BoolVar(&o.Partial, "partial", false, "with the address of the old master: accept that the user who asks sees only a part of the old cluster")
	f.StringVar(&o.Prefix, "workspace-prefix", "", "import beside existing work: this goes before the names of workspaces, and all numbers are new")
	f.StringVar(&o.Host, "old-host", "", "with --workspace-prefix: the host name of the old master, which leads here later; its links are redirected to public_url with the new numbers")
	f.BoolVar(&o.DryRun, "dry-run", false, "only say what would be imported, what would be lost, and how long it takes")
	f.BoolVar(&o.Logs, "logs", false, "copy the log lines of trials too, the newest trials first")
	f.BoolVar(&o.Verify, "verify", false, "compare metrics, trials and checkpoints of each experiment on both sides at the end, and read a checkpoint of each storage")
	_ = cmd.MarkFlagRequired("from") // cannot fail: the flag exists
	return cmd
}

// asker is who asks the old master. A secret is never on the command line, which others see.
func asker(env func(string) string, tokenFile string) (download.Access, error) {
	a := download.Access{Token: env("DETENT_IMPORT_TOKEN"), User: env("DETENT_IMPORT_USER"), Password: env("DETENT_IMPORT_PASSWORD")}
	if tokenFile != "" {
		text, err := os.ReadFile(tokenFile)
		if err != nil {
			return a, fmt.Errorf("--from-token-file: %w", err)
		}
		a.Token = strings.TrimSpace(string(text))
	}
	return a, nil
}

// oneFile takes a file as an argument, if the flag does not name it.
func oneFile(file *string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		if len(args) > 1 || *file != "" {
			return fmt.Errorf("%s takes one file, found %d", cmd.CommandPath(), len(args)+min(len(*file), 1))
		}
		*file = args[0]
		return nil
	}
}
