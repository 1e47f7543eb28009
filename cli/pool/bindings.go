package pool

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
)

func newBindings(a *app.App) *cobra.Command {
	return noun.New("bindings", "bind resource pools to workspaces", nil, nil,
		newBind(a, "add", "bind a resource pool to more workspaces", "added bindings between the resource pool %q and the following workspaces: %s\n", (*client.Client).BindPool),
		newBind(a, "remove", "remove bindings of a resource pool; without any it is open to all workspaces", "removed bindings between the resource pool %q and the following workspaces: %s\n", (*client.Client).UnbindPool),
		newBind(a, "replace", "bind a resource pool to exactly these workspaces", "replaced bindings of the resource pool %q with those to the following workspaces: %s\n", (*client.Client).ReplaceBindings),
		newListWorkspaces(a))
}

func newBind(a *app.App, verb, short, done string, do func(c *client.Client, ctx context.Context, pool string, workspaces []string) error) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " POOL WORKSPACE...",
		Short: short,
		Args: func(cmd *cobra.Command, given []string) error {
			if len(given) < 2 {
				return args.Wrong(cmd, "expected the name of a resource pool and the names of workspaces")
			}
			return nil
		},
		RunE: app.Call(a, func(ctx context.Context, c *client.Client, given []string) error {
			if err := do(c, ctx, given[0], given[1:]); err != nil {
				return err
			}
			a.Printf(done, given[0], strings.Join(given[1:], ", "))
			return nil
		}),
	}
}

func newListWorkspaces(a *app.App) *cobra.Command {
	var format output.Format
	cmd := &cobra.Command{
		Use:   "list-workspaces POOL",
		Short: "list the workspaces to which a resource pool is bound",
		Args:  args.Exactly("the name of a resource pool"),
		RunE: app.Call(a, func(ctx context.Context, c *client.Client, given []string) error {
			ids, err := c.PoolWorkspaces(ctx, given[0])
			if err != nil {
				return err
			}
			all, err := client.Collect(c.Workspaces(ctx, client.WorkspaceQuery{}))
			if err != nil {
				return err
			}
			names := []string{}
			for _, w := range all {
				if slices.Contains(ids, w.ID) {
					names = append(names, w.Name)
				}
			}
			if format.Structured() {
				return format.Messages(a.IO.Out, map[string]any{"resourcePool": given[0], "workspaces": names})
			}
			t := table.New("resource pool", "workspaces")
			t.Row(given[0], strings.Join(names, ", "))
			return format.Print(a.IO, t, nil)
		}),
	}
	format.Flags(cmd)
	return cmd
}
