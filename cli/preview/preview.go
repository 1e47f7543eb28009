// Package preview has the command det preview-search: the plan of a search, without running it.
package preview

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/input"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
)

type options struct {
	config   string
	simulate bool
	workers  int
	seed     int64
	curves   string
	pace     time.Duration
	format   output.Format
}

const long = `Prints how many trials a search trains and for how long, if no trial fails.

With --simulate det runs the search on this machine in virtual time, with synthetic
learning curves, or with the recorded curves of --curves. det prints how many trials
run at once, when the search ends, and how much training the search saves compared
with training every trial to its end.`

// New returns the command det preview-search.
func New(a *app.App) *cobra.Command {
	o := options{}
	cmd := &cobra.Command{
		Use:   "preview-search CONFIG",
		Short: "show the plan of a search without running it",
		Long:  long,
		Example: `  det preview-search adaptive.yaml
  det preview-search adaptive.yaml --simulate --workers 8`,
		Args: args.Exactly("a configuration file"),
		RunE: func(cmd *cobra.Command, given []string) error {
			o.config = given[0]
			if o.simulate || o.curves != "" {
				return simulate(a, o)
			}
			return run(cmd.Context(), a, o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.simulate, "simulate", false, "run the search in virtual time")
	f.IntVar(&o.workers, "workers", 4, "with --simulate: maximum number of trials that run at once")
	f.Int64Var(&o.seed, "seed", 0, "with --simulate: seed of the random numbers")
	f.DurationVar(&o.pace, "pace", 0, "with --simulate, of a search with a budget: how long a trial trains for one unit of its length, such as 90s")
	f.StringVar(&o.curves, "curves", "", "with --simulate: file of recorded curves; its hyperparameters replace those of the configuration")
	o.format.FlagsWithoutCSV(cmd)
	return cmd
}

// read reads the configuration; "-" is the standard input.
func read(a *app.App, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(a.IO.In)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fault.New(fault.Invalid, "%w", err)
	}
	return b, nil
}

func run(ctx context.Context, a *app.App, o options) error {
	text, err := read(a, o.config)
	if err != nil {
		return err
	}
	// The master gets JSON, without the lines of the file, so det looks for mistakes first.
	cfg, err := parse(a, o.config, text)
	if err == nil {
		err = valid(cfg)
	}
	if err != nil {
		return err
	}
	config, err := input.YAML(o.config, text)
	if err != nil {
		return err
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	out, err := client.Send(ctx, c, v1.PreviewSearch, v1.PreviewHPSearchRequest{Config: config})
	if err != nil {
		return err
	}
	sum := cmp.Or(out.Summary, &v1.SearchSummary{})
	if o.format.Structured() {
		return o.format.Messages(a.IO.Out, sum)
	}
	a.Printf("Using search configuration:\n")
	if err := output.YAML(a.IO.Out, sum.Config); err != nil {
		return err
	}
	a.Printf("\n")
	if cfg.Searcher.ByProgram() {
		a.Printf("A program of yours proposes the hyperparameters of the trials (sampler: program).\n\n")
	}
	if b := cfg.Searcher.Budget; b != nil {
		a.Printf("It ends when %s are spent, or after these trials. --simulate --pace TIME shows how many trials the budget suffices for, if a unit of training takes TIME.\n\n", b)
	}
	if w := cfg.Searcher.StopWhen; w != nil {
		gain, trials, probability := w.Or()
		a.Printf("It may have fewer trials: it creates no further ones when another %d improve its best result by %g %% or more with a probability below %g %%.\n\n", trials, 100*gain, 100*probability)
	}
	if best, times := cfg.Searcher.Repeat.Or(); best > 0 {
		a.Printf("The %d best configurations are trained again at the end, %d times each; these trials are among those below.\n\n", best, times)
	}
	t := table.New("Trials", "Training Time")
	for _, s := range byLength(sum.Trials) {
		t.Row(s.Count, length(s.Unit))
	}
	return o.format.Print(a.IO, t, sum)
}

// byLength adds up the trials of all brackets that train equally long.
func byLength(list []v1.TrialSummary) []v1.TrialSummary {
	var out []v1.TrialSummary
	for _, s := range list {
		i := slices.IndexFunc(out, func(o v1.TrialSummary) bool { return length(o.Unit) == length(s.Unit) })
		if i < 0 {
			out = append(out, s)
		} else {
			out[i].Count += s.Count
		}
	}
	return out
}

// length describes how long trials train.
func length(u v1.SearchUnit) string {
	switch {
	case u.Value == nil:
		return "until the program is done"
	case u.Name == nil || *u.Name == "":
		return fmt.Sprintf("train for %d (the training code decides the unit)", *u.Value)
	}
	return fmt.Sprintf("train for %d %s", *u.Value, *u.Name)
}
