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
	"github.com/detent-ml/detent/master/v1"
)

func newBindings(a *app.App) *cobra.Command {
	return noun.New("bindings", "bind resource pools to workspaces", nil, nil,
		newBind(a, "add", "bind a resource pool to more workspaces", "added bindings between the resource pool %q and the following workspaces: %s\n", v1.BindPool),
		newBind(a, "remove", "remove bindings of a resource pool; without any it is open to all workspaces", "removed bindings between the resource pool %q and the following workspaces: %s\n", v1.UnbindPool),
		newBind(a, "replace", "bind a resource pool to exactly these workspaces", "replaced bindings of the resource pool %q with those to the following workspaces: %s\n", v1.ReplacePoolBindings),
		newListWorkspaces(a))
}

func newBind(a *app.App, verb, short, done string, do v1.Endpoint[v1.PoolBindings, v1.None]) *cobra.Command {
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
			_, err := client.Send(ctx, c, do, v1.PoolBindings{ResourcePoolName: given[0], WorkspaceNames: given[1:]}, given[0])
			return a.Say(err, done, given[0], strings.Join(given[1:], ", "))
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
			resp, err := client.Send(ctx, c, v1.ListPoolWorkspaces, v1.GetListRequest{}, given[0])
			if err != nil {
				return err
			}
			all, err := client.List(ctx, c, v1.ListWorkspaces, client.Page{}, nil)
			if err != nil {
				return err
			}
			names := []string{}
			for _, w := range all {
				if slices.Contains(resp.WorkspaceIDs, w.ID) {
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
