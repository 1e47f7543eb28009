package experiment

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/find"
	"github.com/detent-ml/detent/master/v1"
)

type listOptions struct {
	filterFlags
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
	cmd.Flags().BoolVarP(&o.all, "all", "a", false, "also list archived experiments, and those of other users")
	cmd.Flags().BoolVar(&o.showProject, "show_project", false, "show workspace and project")
	cmd.Flags().StringVar(&o.where, "where", "", "only experiments that match, as in 'validation.loss < 0.1 and label = x' (see det experiment search)")
	o.add(cmd)
	o.pages.Flags(cmd, 200)
	o.format.Flags(cmd)
	return cmd
}

func runList(ctx context.Context, a *app.App, o *listOptions) error {
	s, err := a.Session(ctx)
	if err != nil {
		return err
	}
	experiments, err := o.experiments(ctx, s.Client, s.User, a.Now())
	if err != nil {
		return err
	}
	return o.format.Print(a.IO, Table(experiments, o.all, o.showProject), experiments)
}

// experiments requests the experiments that the flags select; the default is the user's own
// that are not archived.
func (o *listOptions) experiments(ctx context.Context, c *client.Client, me string, now time.Time) ([]v1.Experiment, error) {
	if !o.given() {
		var q v1.GetExperimentsRequest
		if !o.all {
			q.Archived, q.Users = new(false), []string{me}
		}
		return client.List(ctx, c, v1.ListExperiments, o.pages.Page(), &q)
	}
	f, err := o.filter(now)
	if err != nil {
		return nil, err
	}
	if !o.all && !asksFor(f, "user") {
		mine, err := find.Experiments.Parse("owner = "+quoted(me), time.Time{})
		if err != nil {
			return nil, err
		}
		f = f.And(mine)
	}
	f.Archived = f.Archived || o.all
	if len(o.sort) == 0 {
		o.sort = []string{"id"}
	}
	found, err := o.search(ctx, c, f, o.pages.Page(), o.format.Structured())
	return experimentsOf(found), err
}

// Table is the table of a list of experiments, which det project also prints.
func Table(experiments []v1.Experiment, archived, projects bool) *table.Table {
	headers := []string{"ID", "Owner", "Name", "Parent ID", "State", "Progress", "Started", "Ended", "Resource Pool"}
	if projects {
		headers = append([]string{"Workspace", "Project"}, headers...)
	}
	if archived {
		headers = append(headers, "Archived")
	}
	t := table.New(headers...)
	t.Shrink("Name", "Workspace", "Project", "Resource Pool", "Owner")
	t.Optional("Parent ID", "Resource Pool", "Ended", "Progress", "Archived")
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
