package experiment

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

type listTrialsOptions struct {
	pages  args.Pages
	sort   args.OneOf
	format output.Format
}

func newListTrials(a *app.App) *cobra.Command {
	return ListTrials(a, "list-trials EXPERIMENT_ID", "lt")
}

// ListTrials is the command that lists the trials of an experiment; det trial also has it.
func ListTrials(a *app.App, use string, aliases ...string) *cobra.Command {
	o := listTrialsOptions{sort: args.OneOf{Value: "id", Allowed: []string{"id", "metric", "batches", "started"}}}
	cmd := verb(a, use, "list the trials of an experiment", func(ctx context.Context, c *client.Client, id int, _ []string) error {
		trials, metric, err := o.trials(ctx, c, id)
		if err != nil {
			return err
		}
		return o.format.Print(a.IO, trialsTable(trials, metric, a.IO.OutTTY && !o.format.CSV), trials)
	})
	cmd.Aliases = aliases
	cmd.Flags().Var(&o.sort, "sort", "order: id; metric, the best value of the searcher's metric first; batches, the most first; started, the newest first")
	o.pages.Flags(cmd, 200)
	o.format.Flags(cmd)
	return cmd
}

// trials are the trials in the order of --sort, and the name of the metric.
func (o *listTrialsOptions) trials(ctx context.Context, c *client.Client, id int) ([]v1.Trial, string, error) {
	resp, err := client.Call(ctx, c, v1.GetExperiment, id)
	if err != nil {
		return nil, "", err
	}
	e, page := resp.Experiment, o.pages.Page()
	if o.sort.Value == "id" {
		trials, err := client.List(ctx, c, v1.ListTrials, page, nil, id)
		return trials, e.SearcherMetric, err
	}
	trials, err := client.List(ctx, c, v1.ListTrials, client.Page{}, nil, id)
	if err != nil {
		return nil, "", err
	}
	var config struct {
		Searcher struct {
			SmallerIsBetter bool `json:"smaller_is_better"`
		} `json:"searcher"`
	}
	config.Searcher.SmallerIsBetter = true
	if err := resp.Config.Into(&config); err != nil {
		return nil, "", fault.New(fault.Internal, "cannot decode the configuration of experiment %d: %w", id, err)
	}
	slices.SortStableFunc(trials, order(o.sort.Value, config.Searcher.SmallerIsBetter))
	trials = trials[min(page.Offset, len(trials)):]
	if page.Single {
		trials = trials[:min(page.Limit, len(trials))]
	}
	return trials, e.SearcherMetric, nil
}

// order compares trials; those without a metric are the last.
func order(by string, smaller bool) func(a, b v1.Trial) int {
	return func(a, b v1.Trial) int {
		switch x, y := a.SearcherMetricValue, b.SearcherMetricValue; {
		case by == "batches":
			return b.TotalBatchesProcessed - a.TotalBatchesProcessed
		case by == "started":
			return b.StartTime.Compare(a.StartTime)
		case x == nil && y == nil:
			return 0
		case x == nil:
			return 1
		case y == nil:
			return -1
		case smaller:
			return cmp.Compare(*x, *y)
		default:
			return cmp.Compare(*y, *x)
		}
	}
}

// trialsTable has the hyperparameters on one line for a terminal, else as Determined's client prints them.
func trialsTable(trials []v1.Trial, metric string, terminal bool) *table.Table {
	t := table.New("Trial ID", "State", "H-Params", "Started", "Ended", "# of Batches", strings.TrimSuffix("Metric: "+metric, ": "))
	t.Shrink("H-Params")
	for _, trial := range trials {
		hparams := output.Indented(trial.HParams)
		if terminal {
			hparams = string(trial.HParams)
		}
		t.Row(trial.ID, bare(trial.State), hparams, table.Time(&trial.StartTime), table.Time(trial.EndTime), trial.TotalBatchesProcessed,
			trial.SearcherMetricValue)
	}
	return t
}
