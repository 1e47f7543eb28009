package project

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/render"
	"github.com/detent-ml/detent/cli/workspace"
	"github.com/detent-ml/detent/master/client"
	v1 "github.com/detent-ml/detent/master/v1"
)

func newDelete(a *app.App) *cobra.Command {
	var yes bool
	cmd := verb(a, "delete WORKSPACE PROJECT", "delete a project with its experiments", func(ctx context.Context, c *client.Client, p *v1.Project, given []string) error {
		return workspace.Deletion{
			Noun: "project", Name: given[1], Yes: yes, Left: "experiments",
			Contents: "all its experiments, their logs, metrics and checkpoints, and its notes",
			Begin: func(ctx context.Context) (bool, error) {
				resp, err := client.Call(ctx, c, v1.DeleteProject, p.ID)
				return resp.Completed, err
			},
			Look: func(ctx context.Context) (v1.WorkspaceState, string, int, error) {
				now, err := client.Call(ctx, c, v1.GetProject, p.ID)
				return now.Project.State, now.Project.ErrorMessage, now.Project.NumExperiments, err
			},
		}.Run(ctx, a)
	})
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

func newArchive(a *app.App, archived bool) *cobra.Command {
	change, use, short, done := v1.ArchiveProject, "archive WORKSPACE PROJECT", "hide a project, and refuse new experiments in it", "archived"
	if !archived {
		change, use, short, done = v1.UnarchiveProject, "unarchive WORKSPACE PROJECT", "show a project again, and accept experiments in it", "un-archived"
	}
	return verb(a, use, short, func(ctx context.Context, c *client.Client, p *v1.Project, given []string) error {
		return a.Say(client.Act(ctx, c, change, p.ID), "Successfully %s project %s.\n", done, given[1])
	})
}

type editOptions struct {
	name, description, key string
	format                 output.Format
}

func newEdit(a *app.App) *cobra.Command {
	var o editOptions
	cmd := &cobra.Command{
		Use:   "edit WORKSPACE PROJECT",
		Short: "change the name, the description or the key of a project",
		Args:  args.Exactly("the name of a workspace", "the name of a project"),
	}
	f := cmd.Flags()
	f.StringVar(&o.name, "new_name", "", "new name of the project")
	f.StringVar(&o.description, "description", "", "description of the project")
	f.StringVar(&o.key, "key", "", "short name, which prefixes the numbers of runs")
	o.format.Flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, given []string) error {
		change := v1.PatchProject{Name: args.Given(cmd, "new_name", o.name), Description: args.Given(cmd, "description", o.description), Key: args.Given(cmd, "key", o.key)}
		if change == (v1.PatchProject{}) {
			return &exit.UsageError{Message: "nothing to change: set --new_name, --description or --key"}
		}
		return call(a, func(ctx context.Context, c *client.Client, p *v1.Project, _ []string) error {
			resp, err := client.Send(ctx, c, v1.ChangeProject, change, p.ID)
			if err != nil {
				return err
			}
			return o.format.Print(a.IO, render.Projects([]v1.Project{resp.Project}), &resp.Project)
		})(cmd, given)
	}
	return cmd
}
