package experiment

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/find"
	"github.com/detent-ml/detent/master/v1"
)

const searchLong = `Finds the experiments of all users that match a question, and prints a column for
each metric and hyperparameter in the question, with the value of the best trial.

A question consists of comparisons, joined by and, or, not and parentheses:

  name, description, label, state, user, id, project, workspace, searcher, pool,
  template, started, ended, duration, trials, progress, checkpoints, archived
  metric                      the searcher's metric of the best trial
  hp.<name>                   a hyperparameter: its value, or its range in a search
  validation.<metric>[.min]   of the best trial: the last value, or .min, .max, .mean
  training.<metric>, <group>.<metric>

  = != < <= > >=   ~ contains   !~ does not   in (a, b)   is empty   is not empty

Dates are 2026-11-30, 2026-11-30T12:00:00Z, or -7d for a week ago. Text with
spaces needs quotes. label = x matches experiments that have the label x.`

type searchOptions struct {
	filterFlags
	pages  args.Pages
	format output.Format
}

func newSearch(a *app.App) *cobra.Command {
	var o searchOptions
	cmd := &cobra.Command{
		Use:   "search QUESTION",
		Short: "find experiments by hyperparameters, metrics and other fields",
		Long:  searchLong,
		Example: `  det experiment search 'validation.accuracy > 0.9 and hp.lr < 0.1 and label = x'
  det experiment search 'state = error and started > -7d' --sort startTime:desc`,
		Args: args.Exactly("a question, in quotes"),
		RunE: func(cmd *cobra.Command, given []string) error {
			o.where = given[0]
			return runSearch(cmd.Context(), a, &o)
		},
	}
	o.add(cmd)
	o.pages.Flags(cmd, 200)
	o.format.Flags(cmd)
	return cmd
}

func runSearch(ctx context.Context, a *app.App, o *searchOptions) error {
	f, err := o.filter(a.Now())
	if err != nil {
		return err
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	found, err := o.search(ctx, c, f, o.pages.Page(), o.format.Structured())
	if err != nil {
		return err
	}
	if len(found) == 0 {
		if err := warnUnknown(ctx, a, c, f); err != nil {
			return err
		}
	}
	return o.format.Print(a.IO, foundTable(f, found), found)
}

// foundTable is the table of a list of experiments, with a column for each hyperparameter and
// metric in the filter.
func foundTable(f find.Filter, found []v1.SearchExperimentExperiment) *table.Table {
	headers := []string{"ID", "Owner", "Name", "State", "Progress", "Started", "Ended"}
	var asked []find.Column
	for _, c := range f.Columns() {
		if c.Location != find.Experiment {
			asked = append(asked, c)
			headers = append(headers, strings.TrimSuffix(c.Name, "."+find.Last))
		}
	}
	best := asksFor(f, "searcherMetricsVal")
	if best {
		headers = append(headers, "Metric")
	}
	t := table.New(headers...)
	t.Shrink("Name", "Owner")
	t.Optional("Ended", "Progress")
	for _, one := range found {
		e := one.Experiment
		row := []any{e.ID, e.Username, e.Name, bare(e.State), table.Percent(e.Progress), table.Time(&e.StartTime), table.Time(e.EndTime)}
		for _, c := range asked {
			row = append(row, answer(c, one.BestTrial))
		}
		if best {
			row = append(row, e.BestTrialSearcherMetric)
		}
		t.Row(row...)
	}
	return t
}

// answer is a trial's value in a column; nil for none.
func answer(c find.Column, trial *v1.Trial) any {
	if trial == nil {
		return nil
	}
	group, name, summary := c.Metric()
	raw, path := []byte(trial.SummaryMetrics), []string{summaryGroup(group), name, summary}
	if c.Location == find.Hyperparameters {
		raw, path = trial.HParams, strings.Split(c.Hyperparameter(), ".")
	}
	for _, key := range path {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(raw, &object); err != nil {
			return nil
		}
		raw = object[key]
	}
	if len(raw) == 0 {
		return nil
	}
	return strings.Trim(string(raw), `"`)
}

// summaryGroup is the name of a group in a trial's summary.
func summaryGroup(group string) string {
	switch group {
	case "validation":
		return "validation_metrics"
	case "training":
		return "avg_metrics"
	}
	return group
}
