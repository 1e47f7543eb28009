// Package workspace has the command det workspace.
package workspace

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/order"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/render"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/optional"
	v1 "github.com/detent-ml/detent/master/v1"
)

// New returns the command det workspace.
func New(a *app.App) *cobra.Command {
	return noun.New("workspace", "manage workspaces, which group projects", []string{"w"}, newList(a),
		newCreate(a), newEdit(a), newDescribe(a), newArchive(a, true), newArchive(a, false), newDelete(a), NewListProjects(a, "list-projects NAME"), newListPools(a), newListMembers(a),
		noun.Absent("bindings", "Detent runs tasks on Nomad and binds no workspaces to namespaces of Kubernetes; a pool's job names Nomad's namespace"),
		noun.Absent("resource-quota", "Detent runs tasks on Nomad and sets no quotas in Kubernetes"))
}

// verb makes a command about the workspace that its first argument names.
func verb(a *app.App, use, short string, run func(ctx context.Context, c *client.Client, w *v1.Workspace, given []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: args.Exactly("the name of a workspace"), RunE: app.Find(a, (*client.Client).WorkspaceByName, run)}
}

type listOptions struct {
	order  order.Flags
	pages  args.Pages
	format output.Format
}

func newList(a *app.App) *cobra.Command {
	var o listOptions
	cmd := app.List(a, "list workspaces", func(ctx context.Context, c *client.Client) error {
		q := v1.GetWorkspacesRequest{Order: v1.Order{SortBy: o.order.SortBy(), OrderBy: o.order.OrderBy()}}
		all, err := client.List(ctx, c, v1.ListWorkspaces, o.pages.Page(), &q)
		if err != nil {
			return err
		}
		return o.format.Print(a.IO, workspaceTable(all, false), all)
	})
	o.order.Add(cmd, "id", "name")
	o.pages.Flags(cmd, 200)
	o.format.Flags(cmd)
	return cmd
}

func workspaceTable(all []v1.Workspace, storage bool) *table.Table {
	headers := []string{"ID", "Name", "# Projects", "Agent Uid", "Agent Gid", "Agent User", "Agent Group",
		"Default Compute Pool", "Default Aux Pool"}
	if storage {
		headers = append(headers, "Checkpoint Storage Config")
	}
	t := table.New(headers...)
	for _, w := range all {
		g := optional.Value(w.AgentUserGroup)
		var config any
		if len(w.CheckpointStorageConfig) > 0 {
			config = output.Indented(w.CheckpointStorageConfig)
		}
		t.Row(w.ID, w.Name, w.NumProjects, g.AgentUid, g.AgentGid, g.AgentUser, g.AgentGroup,
			w.DefaultComputePool, w.DefaultAuxPool, config)
	}
	return t
}

func newDescribe(a *app.App) *cobra.Command {
	var format output.Format
	cmd := verb(a, "describe NAME", "show a workspace and its projects", func(ctx context.Context, c *client.Client, w *v1.Workspace, _ []string) error {
		if err := format.Print(a.IO, workspaceTable([]v1.Workspace{*w}, true), w); err != nil || format.Structured() || format.CSV {
			return err
		}
		projects, err := client.List(ctx, c, v1.ListProjects, client.Page{}, nil, w.ID)
		if err != nil {
			return err
		}
		a.Printf("\nAssociated Projects\n")
		return render.Projects(projects).Write(a.IO.Out)
	})
	format.Flags(cmd)
	return cmd
}

// NewListProjects is the list of a workspace's projects, a verb of det workspace and of det project.
func NewListProjects(a *app.App, use string, aliases ...string) *cobra.Command {
	var o listOptions
	cmd := verb(a, use, "list the projects of a workspace", func(ctx context.Context, c *client.Client, w *v1.Workspace, _ []string) error {
		projects, err := client.List(ctx, c, v1.ListProjects, o.pages.Page(), &v1.GetWorkspaceProjectsRequest{Order: v1.Order{SortBy: o.order.SortBy(), OrderBy: o.order.OrderBy()}}, w.ID)
		if err != nil {
			return err
		}
		return o.format.Print(a.IO, render.Projects(projects), projects)
	})
	cmd.Aliases = aliases
	o.order.Add(cmd, "id", "name", "description")
	o.pages.Flags(cmd, 200)
	o.format.Flags(cmd)
	return cmd
}
