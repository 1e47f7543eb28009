package experiment

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

type listOptions struct {
	all, showProject bool
	pages            args.Pages
	format           output.Format
}

func newList(a *app.App) *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "list experiments",
		Args:    args.None,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runList(cmd.Context(), a, &o) },
	}
	cmd.Flags().BoolVarP(&o.all, "all", "a", false, "also archived ones, and those of other users")
	cmd.Flags().BoolVar(&o.showProject, "show_project", false, "show workspace and project")
	o.pages.Flags(cmd, 200)
	o.format.Flags(cmd)
	return cmd
}

func runList(ctx context.Context, a *app.App, o *listOptions) error {
	s, err := a.Session(ctx)
	if err != nil {
		return err
	}
	q := client.ExperimentQuery{Page: o.pages.Page()}
	if !o.all {
		shown := false
		q.Archived, q.Users = &shown, []string{s.User}
	}
	experiments, err := client.Collect(s.Client.Experiments(ctx, q))
	if err != nil {
		return err
	}
	return o.format.Print(a.IO, Table(experiments, o.all, o.showProject), experiments)
}

// Table is the table of a list of experiments, which det project prints too.
func Table(experiments []v1.Experiment, archived, projects bool) *table.Table {
	headers := []string{"ID", "Owner", "Name", "Parent ID", "State", "Progress", "Started", "Ended", "Resource Pool"}
	if projects {
		headers = append([]string{"Workspace", "Project"}, headers...)
	}
	if archived {
		headers = append(headers, "Archived")
	}
	t := table.New(headers...)
	for _, e := range experiments {
		row := []any{e.ID, e.Username, e.Name, e.ForkedFrom, bare(e.State), table.Percent(e.Progress),
			table.Time(&e.StartTime), table.Time(e.EndTime), e.ResourcePool}
		if projects {
			row = append([]any{e.WorkspaceName, e.ProjectName}, row...)
		}
		if archived {
			row = append(row, e.Archived)
		}
		t.Row(row...)
	}
	return t
}
