package experiment

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/input"
	"github.com/detent-ml/detent/cli/internal/upload"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/search/onward"
	"github.com/detent-ml/detent/master/v1"
)

type continueOptions struct {
	id         int
	configFile string
	overrides  []string
	follow     bool
	newSearch  bool
}

const continueLong = `Continues an experiment after its end.

The trial of an experiment with a single trial continues from its newest checkpoint,
whether it was completed, failed or was canceled. --config-file and --config override
fields of its configuration. In a random or grid search, the trials that failed or were
canceled continue.

--new-search creates a new experiment with the code of the search, which learns from the
trials of the search and makes as many trials fewer as the search has tried. Searches
with early stopping, and searches that det-master import brought, go on in this way.`

func newContinue(a *app.App) *cobra.Command {
	var o continueOptions
	cmd := &cobra.Command{
		Use:   "continue EXPERIMENT_ID",
		Short: "continue an experiment after its end",
		Long:  continueLong,
		Example: `  det experiment continue 7
  det experiment continue 7 --config searcher.max_length.batches=2000 -f
  det experiment continue 12 --new-search`,
		Args:              args.Exactly("the ID of an experiment"),
		ValidArgsFunction: complete.Experiments(a),
		RunE: func(cmd *cobra.Command, given []string) (err error) {
			if o.id, err = args.ID(anExperiment, given[0]); err != nil {
				return err
			}
			return runContinue(cmd.Context(), a, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.configFile, "config-file", "", "override the configuration with this file; - is the standard input")
	f.StringArrayVar(&o.overrides, "config", nil, "override a field: path=value, as in max_restarts=2 (may be repeated)")
	f.BoolVar(&o.newSearch, "new-search", false, "create a new search that learns from what this one has tried")
	f.BoolVarP(&o.follow, "follow-first-trial", "f", false, "follow the log of the first trial")
	return cmd
}

func runContinue(ctx context.Context, a *app.App, o continueOptions) error {
	if o.newSearch {
		return runNewSearch(ctx, a, o)
	}
	name, text := "--config", []byte("{}")
	if o.configFile != "" {
		var err error
		if name, text, err = readConfig(a, o.configFile); err != nil {
			return err
		}
	}
	changed, err := expconf.ApplyOverrides(name, text, o.overrides)
	if err != nil {
		return invalidConfig(name, err)
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	resp, err := client.Send(ctx, c, v1.ContinueExperiment, v1.ContinueExperimentRequest{ID: o.id, OverrideConfig: new(string(changed))})
	if err != nil {
		return input.Named(err, "override config", name)
	}
	a.Printf("Continued experiment %d\n", o.id)
	upload.Remark(a.IO, resp.Warnings, resp.Remarks, nil)
	if o.follow {
		return followFirstTrial(ctx, a, c, o.id)
	}
	return nil
}

// runNewSearch creates a search that learns from an experiment.
func runNewSearch(ctx context.Context, a *app.App, o continueOptions) error {
	if o.configFile != "" {
		return &exit.UsageError{Message: "--config-file changes an experiment that continues, and --new-search creates another one", Hint: "Use --config path=value."}
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	old, err := client.Call(ctx, c, v1.GetExperiment, o.id)
	if err != nil {
		return err
	}
	tried := 0
	for t, err := range client.Each(ctx, c, v1.ListTrials, client.Page{}, nil, o.id) {
		if err != nil {
			return err
		}
		if t.State == v1.TrialStateCompleted || t.State == v1.TrialStateError {
			tried++
		}
	}
	config, err := onward.Successor(old.Experiment.Config, o.id, tried)
	if err != nil {
		return fault.New(fault.Invalid, "%w", err)
	}
	name := fmt.Sprintf("the configuration of experiment %d", o.id)
	if config, err = expconf.ApplyOverrides(name, config, o.overrides); err != nil {
		return invalidConfig(name, err)
	}
	resp, err := submit(ctx, a, c, v1.CreateExperimentRequest{Config: new(string(config)), ParentID: &o.id, ProjectID: &old.Experiment.ProjectID, Activate: new(true)})
	if err != nil {
		return unanswered(ctx, a, input.Named(err, masterName, name))
	}
	a.Printf("Created experiment %d, which learns from experiment %d\n", resp.Experiment.ID, o.id)
	upload.Remark(a.IO, resp.Warnings, resp.Remarks, nil)
	if o.follow {
		return followFirstTrial(ctx, a, c, resp.Experiment.ID)
	}
	return nil
}
