package experiment

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/cli/internal/upload"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/each"
	v1 "github.com/detent-ml/detent/master/v1"
)

type branchOptions struct {
	id      int
	at      string
	set     []string
	project int
	paused  bool
	format  output.Format
}

const branchLong = `Creates an experiment that goes on from an event of a search, with other settings.

The branch shares the trials of the search up to that event, with their results and
checkpoints, and trains none of them again. Trials that ran or waited go on from their
newest checkpoint at or before the event.

--at is the number of an event, as det experiment events lists them, or end, or trial=N
for the event that created the trial with the number N. --set changes a field of the
configuration. Of the search, these may change: max_trials, max_length or max_time (only
longer), max_concurrent_trials, sampler (random, tpe), mode, budget and stop_when.`

func newBranch(a *app.App) *cobra.Command {
	var o branchOptions
	cmd := &cobra.Command{
		Use:   "branch EXPERIMENT_ID",
		Short: "go on from an event of a search, with other settings",
		Long:  branchLong,
		Example: `  det experiment branch 12 --at end --set searcher.max_trials=200
  det experiment branch 12 --at end --set searcher.max_length.epochs=128
  det experiment branch 12 --at 340 --set searcher.sampler=tpe --set name=with-tpe`,
		Args:              args.Exactly("the ID of an experiment"),
		ValidArgsFunction: complete.Experiments(a),
		RunE: func(cmd *cobra.Command, given []string) (err error) {
			if o.id, err = args.ID(anExperiment, given[0]); err != nil {
				return err
			}
			return runBranch(cmd.Context(), a, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.at, "at", "", "where the branch begins: the number of an event, end, or trial=N")
	f.StringArrayVar(&o.set, "set", nil, "change a field of the configuration: path=value, as in searcher.max_trials=200 (may be repeated)")
	f.IntVar(&o.project, "project-id", 0, "create the branch in the project with this ID, instead of that of the experiment")
	f.BoolVar(&o.paused, "paused", false, "do not activate the branch")
	o.format.FlagsWithoutCSV(cmd)
	return cmd
}

func runBranch(ctx context.Context, a *app.App, o branchOptions) error {
	if o.at == "" {
		return &exit.UsageError{Message: "--at is missing: the event at which the branch begins", Hint: "Use --at end, --at trial=N, or the number of an event: det experiment events lists them."}
	}
	req := v1.BranchExperimentRequest{At: o.at, Set: o.set, Activate: new(!o.paused)}
	if o.project > 0 {
		req.ProjectID = &o.project
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	resp, err := client.Send(ctx, c, v1.BranchExperiment, req, o.id)
	if err != nil {
		return err
	}
	if o.format.Structured() {
		return o.format.Messages(a.IO.Out, resp)
	}
	a.Printf("Created experiment %d, a branch of experiment %d at event %d\n", resp.Experiment.ID, o.id, resp.Event)
	a.Printf("%d trials are shared and have ended, %d go on from a checkpoint, %d train again because they have none\n", resp.Shared, resp.Resumed, resp.Restarted)
	upload.Remark(a.IO, resp.Warnings, resp.Remarks, nil)
	return nil
}

// printBranches says from where an experiment branches, and which experiments branch from it.
func printBranches(a *app.App, of *v1.GetExperimentResponse) {
	if e := of.Experiment; e.BranchEvent != nil && e.ForkedFrom != nil {
		a.Printf("\nExperiment %d is a branch of experiment %d, at its event %d.\n", e.ID, *e.ForkedFrom, *e.BranchEvent)
	}
	if len(of.Branches) > 0 {
		list := each.Of(of.Branches, func(b v1.ExperimentBranch) string { return fmt.Sprintf("%d (at event %d)", b.ID, b.Event) })
		a.Printf("\nBranches of experiment %d: %s.\n", of.Experiment.ID, strings.Join(list, ", "))
	}
}

type eventsOptions struct {
	after  int64
	limit  int
	format output.Format
}

const eventsLong = `Lists the events of a search with their numbers: what trials reported, how they ended, and
what the search decided then. det experiment branch goes on from one of them.`

func newEvents(a *app.App) *cobra.Command {
	var o eventsOptions
	cmd := verb(a, "events EXPERIMENT_ID", "list the events of a search", func(ctx context.Context, c *client.Client, id int, _ []string) error {
		return runEvents(ctx, a, c, id, o)
	})
	cmd.Long = eventsLong
	cmd.Flags().Int64Var(&o.after, "after", 0, "list the events after this number")
	cmd.Flags().IntVar(&o.limit, "limit", 0, "list at most this many events; 0: all")
	o.format.Flags(cmd)
	return cmd
}

// eventsTogether is how many events one request reads.
const eventsTogether = 1000

func runEvents(ctx context.Context, a *app.App, c *client.Client, id int, o eventsOptions) error {
	list := []v1.SearchEvent{}
	for more, after := true, o.after; more; {
		limit := eventsTogether
		if o.limit > 0 {
			limit = min(limit, o.limit-len(list))
		}
		page, err := client.Send(ctx, c, v1.ListSearchEvents, v1.ListSearchEventsRequest{After: after, Limit: &limit}, id)
		if err != nil {
			return err
		}
		list, after = append(list, page.Events...), page.Next
		more = page.More && (o.limit == 0 || len(list) < o.limit)
	}
	t := table.New("Event", "What", "Decisions", "Trials")
	for _, e := range list {
		t.Row(e.Number, e.What, strings.Join(e.Decisions, "; "), e.Trials)
	}
	return o.format.Print(a.IO, t, list)
}
