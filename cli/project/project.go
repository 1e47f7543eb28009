// Package project has the command det project.
package project

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/experiment"
	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/order"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/render"
	"github.com/detent-ml/detent/cli/workspace"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/optional"
	v1 "github.com/detent-ml/detent/master/v1"
)

// New returns the command det project.
func New(a *app.App) *cobra.Command {
	return noun.New("project", "manage projects, which group experiments", []string{"p"}, nil,
		workspace.NewListProjects(a, "list WORKSPACE", "ls"), newListExperiments(a), newCreate(a), newEdit(a), newDescribe(a), newArchive(a, true), newArchive(a, false), newDelete(a))
}

// call is the function of a verb about the project that the first two arguments name.
func call(a *app.App, run func(ctx context.Context, c *client.Client, p *v1.Project, given []string) error) app.RunE {
	return app.Call(a, func(ctx context.Context, c *client.Client, given []string) error {
		p, err := c.ProjectByName(ctx, given[0], given[1])
		if err != nil {
			return err
		}
		return run(ctx, c, p, given)
	})
}

// verb makes a command about the project that its first two arguments name.
func verb(a *app.App, use, short string, run func(ctx context.Context, c *client.Client, p *v1.Project, given []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: args.Exactly("the name of a workspace", "the name of a project"), RunE: call(a, run)}
}

type experimentsOptions struct {
	all    bool
	by     order.Flags
	pages  args.Pages
	format output.Format
}

func newListExperiments(a *app.App) *cobra.Command {
	var o experimentsOptions
	cmd := verb(a, "list-experiments WORKSPACE PROJECT", "list the experiments of a project", func(ctx context.Context, _ *client.Client, p *v1.Project, _ []string) error {
		return o.print(ctx, a, p)
	})
	cmd.Flags().BoolVarP(&o.all, "all", "a", false, "also list archived experiments, and those of other users")
	o.by.Add(cmd, "id", "description", "name", "start_time", "end_time", "state", "num_trials", "progress", "user")
	o.pages.Flags(cmd, 200)
	o.format.Flags(cmd)
	return cmd
}

func (o *experimentsOptions) print(ctx context.Context, a *app.App, p *v1.Project) error {
	s, err := a.Session(ctx)
	if err != nil {
		return err
	}
	q := v1.GetExperimentsRequest{ProjectID: p.ID, Order: v1.Order{SortBy: o.by.SortBy(), OrderBy: o.by.OrderBy()}}
	if !o.all {
		q.Archived, q.Users = new(false), []string{s.User}
	}
	all, err := client.List(ctx, s.Client, v1.ListExperiments, o.pages.Page(), &q)
	if err != nil {
		return err
	}
	return o.format.Print(a.IO, experiment.Table(all, o.all, false), all)
}

type createOptions struct {
	description, key string
	format           output.Format
}

func newCreate(a *app.App) *cobra.Command {
	var o createOptions
	cmd := &cobra.Command{
		Use:   "create WORKSPACE NAME",
		Short: "create a project in a workspace",
		Args:  args.Exactly("the name of a workspace", "a name"),
		RunE: app.Find(a, (*client.Client).WorkspaceByName, func(ctx context.Context, c *client.Client, w *v1.Workspace, given []string) error {
			req := v1.PostProjectRequest{Name: given[1], WorkspaceID: w.ID, Description: optional.NonZero(o.description), Key: optional.NonZero(o.key)}
			resp, err := client.Send(ctx, c, v1.CreateProject, req, req.WorkspaceID)
			if err != nil {
				return err
			}
			return o.format.Print(a.IO, render.Projects([]v1.Project{resp.Project}), &resp.Project)
		}),
	}
	cmd.Flags().StringVar(&o.description, "description", "", "description of the project")
	cmd.Flags().StringVar(&o.key, "key", "", "short name, which prefixes the numbers of runs")
	o.format.Flags(cmd)
	return cmd
}

func newDescribe(a *app.App) *cobra.Command {
	o := &experimentsOptions{}
	cmd := verb(a, "describe WORKSPACE PROJECT", "show a project and its experiments", func(ctx context.Context, _ *client.Client, p *v1.Project, _ []string) error {
		if err := o.format.Print(a.IO, render.Projects([]v1.Project{*p}), p); err != nil || o.format.Structured() || o.format.CSV {
			return err
		}
		a.Printf("\nAssociated Experiments\n")
		return o.print(ctx, a, p)
	})
	cmd.Flags().BoolVarP(&o.all, "all", "a", false, "also list archived experiments, and those of other users")
	o.by.Add(cmd, "id")
	o.format.Flags(cmd)
	return cmd
}
