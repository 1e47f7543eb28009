package experiment

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/find"
	"github.com/detent-ml/detent/master/v1"
)

// filterFlags select and sort experiments.
type filterFlags struct {
	where, name, project string
	labels, owners       []string
	states               []string
	sort                 []string
}

func (o *filterFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.name, "name", "", "only experiments whose name contains this text")
	f.StringArrayVar(&o.labels, "label", nil, "only experiments with this label (repeat to require several)")
	f.StringArrayVar(&o.owners, "owner", nil, "only experiments of this user (repeat for several)")
	f.StringArrayVar(&o.states, "state", nil, "only experiments in this state (repeat for several)")
	f.StringVar(&o.project, "project", "", "only experiments of this project: its ID, its name, or <workspace>/<project>")
	f.StringArrayVar(&o.sort, "sort", nil, "sort by this column, as in validation.loss or name:desc (repeat for several)")
}

// given reports whether any of the flags is set.
func (o *filterFlags) given() bool {
	return o.where != "" || o.name != "" || o.project != "" || len(o.labels)+len(o.owners)+len(o.states)+len(o.sort) > 0
}

// filter converts the flags to a filter.
func (o *filterFlags) filter(now time.Time) (find.Filter, error) {
	f, err := find.Experiments.Parse(o.where, now)
	if wrong, ok := errors.AsType[*find.Error](err); ok {
		return f, &exit.UsageError{Message: wrong.Caret(o.where) + "\n" + wrong.Message, Hint: wrong.Hint}
	}
	if err != nil {
		return f, err
	}
	line := &strings.Builder{}
	and := func(parts []string, joined string) {
		if len(parts) == 0 {
			return
		}
		if line.Len() > 0 {
			line.WriteString(" and ")
		}
		line.WriteString("(" + strings.Join(parts, joined) + ")")
	}
	equal := func(column string, values []string) []string {
		return each.Of(values, func(v string) string { return column + " = " + quoted(v) })
	}
	if o.name != "" {
		and([]string{"name ~ " + quoted(o.name)}, "")
	}
	and(equal("label", o.labels), " and ")
	and(equal("owner", o.owners), " or ")
	and(equal("state", o.states), " or ")
	and(o.ofProject(), " and ")
	rest, err := find.Experiments.Parse(line.String(), now)
	if wrong, ok := errors.AsType[*find.Error](err); ok {
		return f, &exit.UsageError{Message: wrong.Message, Hint: wrong.Hint}
	}
	return f.And(rest), err
}

// ofProject accepts an ID, a project's name, or <workspace>/<project>.
func (o *filterFlags) ofProject() []string {
	workspace, project, two := strings.Cut(o.project, "/")
	switch _, err := strconv.Atoi(o.project); {
	case o.project == "":
		return nil
	case err == nil:
		return []string{"projectId = " + o.project}
	case two:
		return []string{"workspace = " + quoted(workspace), "project = " + quoted(project)}
	}
	return []string{"project = " + quoted(o.project)}
}

// quoted quotes text for the filter language.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// search requests the experiments that a filter selects.
func (o *filterFlags) search(ctx context.Context, c *client.Client, f find.Filter, page client.Page, full bool) ([]v1.SearchExperimentExperiment, error) {
	raw, err := f.JSON()
	if err != nil {
		return nil, err
	}
	sort, err := find.Experiments.SortOf(o.sort)
	if err != nil {
		return nil, &exit.UsageError{Message: "--sort: " + err.Error()}
	}
	return client.Collect(c.SearchExperiments(ctx, v1.SearchExperimentsRequest{Filter: new(string(raw)), Sort: &sort, WithoutConfig: new(!full)}, page))
}

// experimentsOf returns the experiments of a search result.
func experimentsOf(found []v1.SearchExperimentExperiment) []v1.Experiment {
	return each.Of(found, func(one v1.SearchExperimentExperiment) v1.Experiment { return one.Experiment })
}

// asksFor reports whether a filter has a condition on a field of experiments.
func asksFor(f find.Filter, field string) bool {
	return slices.ContainsFunc(f.Columns(), func(c find.Column) bool { return c.Location == find.Experiment && c.Name == field })
}
