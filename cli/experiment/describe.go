package experiment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/render"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
)

type describeOptions struct {
	ids     []int
	metrics bool
	outdir  string
	format  output.Format
}

func newDescribe(a *app.App) *cobra.Command {
	var o describeOptions
	cmd := &cobra.Command{
		Use:               "describe EXPERIMENT_ID...",
		Short:             "show experiments with their trials, metrics and checkpoints",
		Args:              args.AtLeastOne("the ID of an experiment"),
		ValidArgsFunction: complete.Experiments(a),
		RunE: func(cmd *cobra.Command, given []string) (err error) {
			if o.ids, err = args.IDs(anExperiment, given); err != nil {
				return err
			}
			return runDescribe(cmd.Context(), a, o)
		},
	}
	cmd.Flags().BoolVar(&o.metrics, "metrics", false, "show the metrics")
	cmd.Flags().StringVar(&o.outdir, "outdir", "", "write experiments.csv, trials.csv and workloads.csv into this folder")
	o.format.Flags(cmd)
	return cmd
}

// A described experiment has the data of the three tables.
type described struct {
	resp      *v1.GetExperimentResponse
	trials    []v1.Trial
	workloads map[int][]v1.WorkloadContainer
	left      []string // which reports are left out
}

// Limits of a description for eyes: reports and checkpoints of a trial, and of all trials. Files have all.
const (
	maxOfTrial = 100
	maxOfAll   = 1_000
)

func runDescribe(ctx context.Context, a *app.App, o describeOptions) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	var all []described
	var messages []*v1.GetExperimentResponse
	for _, id := range o.ids {
		d, err := load(ctx, c, id, o)
		if err != nil {
			return err
		}
		all = append(all, d)
		messages = append(messages, d.resp)
	}
	if o.format.Structured() {
		return o.format.Messages(a.IO.Out, messages)
	}
	parts := []part{
		{"Experiment:", "experiments.csv", experimentTable(all)},
		{"\nTrials:", "trials.csv", trialTable(all)},
		{"\nWorkloads:", "workloads.csv", workloadTable(all, o.metrics)},
	}
	for _, p := range parts {
		if err := p.print(a, o); err != nil {
			return err
		}
	}
	if o.outdir == "" && !o.format.CSV {
		for _, d := range all {
			d.sayLeft(a)
		}
		if err := printFronts(a, all); err != nil {
			return err
		}
		if err := printRepeats(a, all); err != nil {
			return err
		}
		explain(a, all)
	}
	return nil
}

// explain prints why trials wait or failed.
func explain(a *app.App, all []described) {
	for _, d := range all {
		if e := d.resp.Experiment; e.Error != "" {
			what := " failed:"
			switch {
			case e.State == v1.ExperimentStateCompleted || e.State == v1.ExperimentStateDeleteFailed:
				what = " was not deleted:"
			case !isFinal(e.State) && !strings.HasPrefix(string(e.State), "STATE_STOPPING"): // it waits
				what = ""
			}
			a.Printf("\nExperiment %d%s %s\n", e.ID, what, e.Error)
		}
		printBranches(a, d.resp)
		for _, s := range d.resp.Outlook.Says {
			a.Printf("\nExperiment %d: %s.\n", d.resp.Experiment.ID, s)
		}
		for _, s := range d.resp.Remarks {
			a.Printf("\nExperiment %d: %s\n", d.resp.Experiment.ID, s)
		}
		for _, n := range d.resp.AvoidedNodes {
			words := "\nExperiment %d avoids node %s: %d of its attempts in a row failed there. It uses the node only if no other one can hold its trials.\n"
			if isFinal(d.resp.Experiment.State) {
				words = "\nExperiment %d avoided node %s: %d of its attempts in a row failed there.\n"
			}
			a.Printf(words, d.resp.Experiment.ID, n.Node, n.Failures)
		}
		for _, t := range d.trials {
			if why := render.Why(t); why != "" {
				a.Printf("\n%s\n", why)
			}
			if why := render.Policy(t); why != "" {
				a.Printf("\n%s\n", why)
			}
		}
	}
}

func load(ctx context.Context, c *client.Client, id int, o describeOptions) (described, error) {
	d := described{workloads: map[int][]v1.WorkloadContainer{}}
	var err error
	if d.resp, err = client.Call(ctx, c, v1.GetExperiment, id); err != nil || o.format.Structured() {
		return d, err
	}
	if d.trials, err = client.List(ctx, c, v1.ListTrials, client.Page{}, nil, id); err != nil {
		return d, err
	}
	if o.outdir == "" && !o.format.CSV {
		return d, d.loadSome(ctx, c, maxOfTrial, maxOfAll)
	}
	for _, t := range d.trials {
		if d.workloads[t.ID], err = client.List(ctx, c, v1.ListTrialWorkloads, client.Page{Limit: 500}, nil, t.ID); err != nil {
			return d, err
		}
	}
	return d, nil
}

// loadSome loads the newest reports of the first trials, at most so many of a trial, and of all.
func (d *described) loadSome(ctx context.Context, c *client.Client, ofTrial, free int) error {
	for i, t := range d.trials {
		if free <= 0 {
			d.left = append(d.left, fmt.Sprintf("No reports of the last %d trials are shown.", len(d.trials)-i))
			return nil
		}
		list, total, err := c.LastWorkloads(ctx, t.ID, min(free, ofTrial))
		if err != nil {
			return err
		}
		if d.workloads[t.ID] = list; len(list) < total {
			d.left = append(d.left, fmt.Sprintf("Of trial %d, the last %d of %d reports and checkpoints are shown.", t.ID, len(list), total))
		}
		free -= len(list)
	}
	return nil
}

// sayLeft prints which reports are left out.
func (d *described) sayLeft(a *app.App) {
	const most = 3 // sentences
	for i, s := range d.left {
		if i == most {
			a.Printf("Reports of %d further trials are left out.\n", len(d.left)-most)
			break
		}
		a.Printf("%s\n", s)
	}
	if len(d.left) > 0 {
		a.Printf("--csv and --outdir have all.\n")
	}
}

// A part is one of the tables.
type part struct {
	title, file string
	table       *table.Table
}

func (p part) print(a *app.App, o describeOptions) error {
	if o.outdir != "" {
		path := filepath.Join(o.outdir, p.file)
		f, err := os.Create(path)
		if err == nil {
			err = errors.Join(p.table.CSV(f), f.Close())
		}
		if err != nil {
			return fault.New(fault.Invalid, "cannot write %s: %w", path, err)
		}
		return nil
	}
	a.Printf("%s\n", p.title)
	if o.format.CSV {
		return p.table.CSV(a.IO.Out)
	}
	return p.table.Write(a.IO.Out)
}

func experimentTable(all []described) *table.Table {
	t := table.New("Experiment ID", "State", "Progress", "Started", "Ended", "Name", "Description",
		"Archived", "Resource Pool", "Labels")
	for _, d := range all {
		e := d.resp.Experiment
		labels := slices.Sorted(slices.Values(e.Labels))
		t.Row(e.ID, bare(e.State), table.Percent(e.Progress), table.Time(&e.StartTime), table.Time(e.EndTime),
			e.Name, e.Description, e.Archived, e.ResourcePool, strings.Join(labels, ", "))
	}
	return t
}

func trialTable(all []described) *table.Table {
	t := table.New("Trial ID", "Experiment ID", "State", "Started", "Ended", "H-Params")
	for _, d := range all {
		for _, trial := range d.trials {
			t.Row(trial.ID, d.resp.Experiment.ID, bare(trial.State), table.Time(&trial.StartTime), table.Time(trial.EndTime),
				output.Indented(trial.HParams))
		}
	}
	return t
}
