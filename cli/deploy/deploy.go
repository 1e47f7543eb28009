// Package deploy has the command det deploy: a cluster on this machine. It is the command line
// of nomad/local.
//
// cluster-up must work for somebody who has only the archive of a release. So supply.go looks for everything that the cluster needs before
// anything starts, and lacking.go writes one message about all that is missing.
package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers"
)

// New returns the command det deploy.
func New(a *app.App) *cobra.Command {
	return noun.New("deploy", "run a cluster", []string{"d"}, nil,
		noun.New("local", "run a cluster on this machine", nil, nil,
			newUp(a, runUp), newDown(a), newStatus(a), newLogs(a), newNomadUI(a), newReset(a),
			noun.Absent("master-up", startedWhole), noun.Absent("master-down", startedWhole),
			noun.Absent("agent-up", startedWhole), noun.Absent("agent-down", startedWhole)),
		noun.Absent("aws", inACloud), noun.Absent("gcp", inACloud), noun.Absent("gke-experimental", inACloud))
}

// where selects a cluster on this machine.
type where struct {
	name string
	dir  string
}

func (w *where) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.name, "cluster-name", local.DefaultName, "name of the cluster")
	cmd.Flags().StringVar(&w.dir, "state-dir", "", "folder of the cluster's data (default: a folder named after the cluster)")
}

func (w *where) load() (*local.Cluster, error) {
	dir := w.dir
	if dir == "" {
		var err error
		if dir, err = local.DefaultStateDir(w.name); err != nil {
			return nil, fault.New(fault.Invalid, "%w", err)
		}
	}
	c, err := local.Load(dir)
	if errors.Is(err, local.ErrNoCluster) {
		return nil, fault.New(fault.NotFound, "there is no cluster %q on this machine; start it with `%s deploy local cluster-up%s`", w.name, detCommand(), local.Flags(w.name, w.dir))
	}
	if err != nil {
		return nil, fault.New(fault.Internal, "%w", err)
	}
	return c, nil
}

// on is a call about the cluster.
func (w *where) on(run func(ctx context.Context, c *local.Cluster) error) app.RunE {
	return func(cmd *cobra.Command, _ []string) error {
		c, err := w.load()
		if err != nil {
			return err
		}
		return run(cmd.Context(), c)
	}
}

func newDown(a *app.App) *cobra.Command {
	var w where
	var deleteDB bool
	cmd := &cobra.Command{
		Use:   "cluster-down",
		Short: "stop the cluster; its data stays",
		Args:  args.None,
		RunE: w.on(func(ctx context.Context, c *local.Cluster) error {
			report, end := progress(a), c.Down
			if deleteDB {
				end = c.Reset
			}
			if err := end(ctx, report); err != nil || deleteDB {
				return failed(ctx, err)
			}
			report.Say("The data stays in %s; start the cluster again with `%s deploy local cluster-up%s`.", c.StateDir(), detCommand(), local.Flags(w.name, w.dir))
			return nil
		}),
	}
	w.flags(cmd)
	cmd.Flags().BoolVar(&deleteDB, "delete-db", false, "also remove the data, with all experiments and checkpoints; det does not ask")
	return cmd
}

type resetOptions struct {
	where
	yes bool
}

func newReset(a *app.App) *cobra.Command {
	var o resetOptions
	cmd := &cobra.Command{
		Use:   "reset",
		Short: "stop the cluster and remove its data",
		Args:  args.None,
		RunE:  o.on(func(ctx context.Context, c *local.Cluster) error { return runReset(ctx, a, c, o) }),
	}
	o.flags(cmd)
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	return cmd
}

func runReset(ctx context.Context, a *app.App, c *local.Cluster, o resetOptions) error {
	if !o.yes && a.IO.InTTY {
		yes, err := a.IO.Confirm(ctx, fmt.Sprintf("This removes the cluster %q with all experiments and checkpoints in %s. Continue?", o.name, c.StateDir()))
		if err != nil {
			return err
		}
		if !yes {
			return exit.Status(exit.Failed)
		}
	}
	return failed(ctx, c.Reset(ctx, progress(a)))
}

func newStatus(a *app.App) *cobra.Command {
	var w where
	var format output.Format
	cmd := &cobra.Command{
		Use:   "status",
		Short: "show the parts of the cluster and whether they are healthy",
		Long:  "Shows the parts of the cluster. The exit status is 0 only if all parts are healthy.",
		Args:  args.None,
		RunE:  w.on(func(ctx context.Context, c *local.Cluster) error { return runStatus(a, c.Describe(ctx), format) }),
	}
	w.flags(cmd)
	format.FlagsWithoutCSV(cmd)
	return cmd
}

func runStatus(a *app.App, d local.Description, format output.Format) error {
	d.Command, d.Example = detCommand(), findExample()
	if format.Structured() {
		raw, err := json.Marshal(d)
		if err == nil && format.YAML {
			err = output.YAML(a.IO.Out, raw)
		} else if err == nil {
			err = output.JSON(a.IO.Out, raw)
		}
		if err != nil {
			return err
		}
	} else {
		if err := d.WriteStatus(a.IO.Out); err != nil {
			return err
		}
		a.Printf("\n")
		if err := d.WriteSummary(a.IO.Out); err != nil {
			return err
		}
	}
	if !d.Up() {
		return exit.Status(exit.Failed)
	}
	return nil
}

type logsOptions struct {
	where
	part   string
	tail   int
	follow bool
}

func newLogs(a *app.App) *cobra.Command {
	var o logsOptions
	cmd := &cobra.Command{
		Use:   "logs [PART]",
		Short: "print the log of a part: master, nomad, consul or postgres",
		Args:  args.Between(0, "the name of a part"),
		RunE: func(cmd *cobra.Command, given []string) error {
			o.part = "master"
			if len(given) > 0 {
				o.part = given[0]
			}
			return o.on(func(ctx context.Context, c *local.Cluster) error {
				return failed(ctx, c.Logs(ctx, o.part, o.tail, o.follow, a.IO.Out))
			})(cmd, nil)
		},
	}
	o.flags(cmd)
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "follow the log")
	cmd.Flags().Bool("no-follow", false, "do not follow the log, which is the default")
	cmd.MarkFlagsMutuallyExclusive("follow", "no-follow")
	cmd.Flags().IntVar(&o.tail, "tail", 0, "print this many lines from the end")
	return cmd
}

// progress reports steps to the user. On a terminal a step is a line that is drawn again, which a.IO.Err does not allow.
func progress(a *app.App) *servers.Reporter { return servers.NewReporter(a.IO.ErrCanvas()) }

// failed adds codes to errors of the cluster.
func failed(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return fault.New(fault.Invalid, "%w", err)
}
