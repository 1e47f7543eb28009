// Package configpolicies has the command det config-policies: fields that administrators set in the configurations of
// users, and limits.
package configpolicies

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
)

// New is det config-policies.
func New(a *app.App) *cobra.Command {
	return noun.New("config-policies", "manage config policies: what is laid over configurations, and limits", []string{"cp"}, nil,
		newDescribe(a), newSet(a), newDelete(a))
}

const workloadArg = "experiment or tasks"

// A target is the policies that a verb is about.
type target struct {
	typed     string // the type of workload, as the user wrote it
	workload  string // the same for the API
	workspace string // name; "" for the cluster
	id        int
}

func (t *target) flag(cmd *cobra.Command, use string) {
	cmd.Flags().StringVarP(&t.workspace, "workspace-name", "w", "", use+" this workspace; default is the cluster")
}

// find checks the type of workload and finds the workspace.
func (t *target) find(ctx context.Context, a *app.App, cmd *cobra.Command, typed string) (*client.Client, error) {
	t.typed = typed
	switch strings.ToLower(typed) {
	case "experiment":
		t.workload = "EXPERIMENT"
	case "tasks":
		t.workload = "NTSC"
	default:
		return nil, args.Wrong(cmd, "%q is not a type of workload: expected experiment or tasks", typed)
	}
	c, err := a.Client(ctx)
	if err != nil || t.workspace == "" {
		return c, err
	}
	w, err := c.WorkspaceByName(ctx, t.workspace)
	if err != nil {
		return nil, err
	}
	t.id = w.ID
	return c, nil
}

func newDescribe(a *app.App) *cobra.Command {
	var t target
	var format output.Format
	cmd := &cobra.Command{
		Use:       "describe WORKLOAD_TYPE",
		Short:     "show config policies",
		Args:      args.Exactly(workloadArg),
		ValidArgs: []string{"experiment", "tasks"},
		RunE: func(cmd *cobra.Command, given []string) error {
			return runDescribe(cmd.Context(), a, cmd, &t, given[0], format)
		},
	}
	t.flag(cmd, "show the policies of")
	format.Flags(cmd)
	return cmd
}

func runDescribe(ctx context.Context, a *app.App, cmd *cobra.Command, t *target, typed string, format output.Format) error {
	c, err := t.find(ctx, a, cmd, typed)
	if err != nil {
		return err
	}
	set, err := c.ConfigPolicies(ctx, t.id, t.workload)
	switch {
	case err != nil:
		return err
	case format.JSON:
		return output.JSON(a.IO.Out, set)
	case format.CSV:
		row := table.New("Workload Type", "Workspace", "Config Policies")
		row.Row(t.workload, t.workspace, output.Indented(set))
		return row.CSV(a.IO.Out)
	}
	return printed(a.IO.Out, set)
}

// printed writes policies as YAML with an empty line after them, as Determined's client does.
func printed(w io.Writer, set []byte) error {
	if err := output.YAML(w, set); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func newSet(a *app.App) *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use:   "set WORKLOAD_TYPE CONFIG_FILE",
		Short: "set config policies in place of those before",
		Args:  args.Exactly(workloadArg, "a file in YAML or JSON"),
		RunE: func(cmd *cobra.Command, given []string) error {
			text, err := os.ReadFile(given[1])
			if err != nil {
				return fault.New(fault.Invalid, "cannot read the policies: %w", err)
			}
			c, err := t.find(cmd.Context(), a, cmd, given[0])
			if err != nil {
				return err
			}
			set, err := c.SetConfigPolicies(cmd.Context(), t.id, t.workload, string(text))
			if err != nil {
				return err
			}
			if t.id == 0 {
				a.Printf("Set global %s config policies:\n", t.typed)
			} else {
				a.Printf("Set %s config policies for workspace %s:\n", t.typed, t.workspace)
			}
			return printed(a.IO.Out, set)
		},
	}
	t.flag(cmd, "set the policies of")
	return cmd
}

func newDelete(a *app.App) *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use:   "delete WORKLOAD_TYPE",
		Short: "delete config policies",
		Args:  args.Exactly(workloadArg),
		RunE: func(cmd *cobra.Command, given []string) error {
			c, err := t.find(cmd.Context(), a, cmd, given[0])
			if err != nil {
				return err
			}
			if err := c.DeleteConfigPolicies(cmd.Context(), t.id, t.workload); err != nil {
				return err
			}
			if t.id == 0 {
				a.Printf("Successfully deleted global %s config policies\n", t.workload)
				return nil
			}
			a.Printf("Successfully deleted %s config policies for workspace %s\n", t.workload, t.workspace)
			return nil
		},
	}
	t.flag(cmd, "delete the policies of")
	return cmd
}
