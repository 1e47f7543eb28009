// Package imports has the command det import: metrics that other programs have stored in files become unmanaged experiments. One file reads
// each kind of folder (tensorboard.go, wandb.go) into runs (run.go), and send.go reports what the master does not have yet.
package imports

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/master/client"
)

// New is det import.
func New(a *app.App) *cobra.Command {
	return noun.New("import", "bring metrics of programs that ran elsewhere", nil, nil, newTensorBoard(a), newWandB(a))
}

// options are the flags of all kinds of imports.
type options struct {
	workspace, project, name, metric, externalID string
	larger                                       bool
}

func (o *options) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&o.workspace, "workspace", "w", "", "the workspace of the project")
	f.StringVarP(&o.project, "project", "p", "", "the project of the experiments; by default Uncategorized")
	f.StringVar(&o.name, "name", "", "the name of the experiment")
	f.StringVar(&o.metric, "metric", "", "the metric by which the experiment compares its trials; by default one whose name has loss")
	f.BoolVar(&o.larger, "larger-is-better", false, "larger values of that metric are better")
	f.StringVar(&o.externalID, "external-id", "", "the external id of the experiment, by which a later import finds it; by default it follows from the folder's path")
	cmd.MarkFlagsRequiredTogether("workspace", "project")
}

// folder is the absolute path of a folder that exists.
func folder(given string) (string, error) {
	path, err := filepath.Abs(given)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return "", err
	}
	about, err := os.Stat(path)
	if err == nil && !about.IsDir() {
		return "", &exit.UsageError{Message: fmt.Sprintf("%s is not a folder", given)}
	}
	return path, err
}

// identity is the external id of an experiment that no flag names: the same for the same user, machine and folder. External ids are unique
// in a cluster, and paths are not, so it has all three.
func identity(ctx context.Context, c *client.Client, kind, path string) (string, error) {
	me, err := c.Me(ctx)
	if err != nil {
		return "", err
	}
	host, err := os.Hostname()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(strconv.Itoa(me.ID) + "\x00" + host + "\x00" + path))
	return kind + "-" + hex.EncodeToString(sum[:16]), nil
}

// An outcome counts what an import did.
type outcome struct {
	runs, values, left int
	damaged            []error
}

// finish prints the outcome, and fails if files were damaged.
func (o *outcome) finish(a *app.App, experiments []int) error {
	for _, err := range o.damaged {
		a.IO.Warn("%v; what stands before it was imported", err)
	}
	if o.left > 0 {
		a.IO.Warn("%d values were left out: their steps are not from 0 to %d", o.left, maxStep)
	}
	for _, id := range experiments {
		a.Printf("experiment %d\n", id)
	}
	a.Printf("%d new values in %d runs\n", o.values, o.runs)
	if len(o.damaged) > 0 {
		return exit.Status(exit.Failed)
	}
	return nil
}

// oneFolder is the argument of all kinds of imports.
var oneFolder = args.Exactly("a folder")

// orBase is a name, or the last part of a path.
func orBase(name, path string) string { return cmp.Or(name, filepath.Base(path)) }
