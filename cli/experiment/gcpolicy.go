package experiment

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

type gcPolicyOptions struct {
	experimentBest, trialBest, trialLatest int
	yes                                    bool
}

func newSetGCPolicy(a *app.App) *cobra.Command {
	var o gcPolicyOptions
	cmd := &cobra.Command{
		Use:   "gc-policy EXPERIMENT_ID",
		Short: "set how many checkpoints of an experiment the master keeps, and remove the others",
		Long: `Sets how many checkpoints the master keeps, shows which checkpoints the master will
remove, and removes them.

Some checkpoints are never removed: the newest checkpoint of each trial of an experiment
that has not ended, checkpoints from which other experiments start, versions of models,
and checkpoints that a task is still writing.`,
		Args:              args.Exactly("the ID of an experiment"),
		ValidArgsFunction: complete.Experiments(a),
		RunE: app.Checked(a, anExperiment, func(context.Context) error {
			for _, n := range []int{o.experimentBest, o.trialBest, o.trialLatest} {
				if n < 0 {
					return &exit.UsageError{Message: fmt.Sprintf("%d is not a number of checkpoints to keep; it must be 0 or more", n)}
				}
			}
			return nil
		}, func(ctx context.Context, c *client.Client, id int, _ []string) error {
			return runSetGCPolicy(ctx, a, c, id, o)
		}),
	}
	f := cmd.Flags()
	f.IntVar(&o.experimentBest, "save-experiment-best", 0, "best checkpoints of the whole experiment to keep")
	f.IntVar(&o.trialBest, "save-trial-best", 0, "best checkpoints of each trial to keep")
	f.IntVar(&o.trialLatest, "save-trial-latest", 0, "newest checkpoints of each trial to keep")
	f.BoolVarP(&o.yes, "yes", "y", false, "remove without showing the checkpoints and without asking")
	for _, name := range []string{"save-experiment-best", "save-trial-best", "save-trial-latest"} {
		_ = cmd.MarkFlagRequired(name) // fails only for an unknown flag
	}
	return cmd
}

const gcPolicyQuestion = `Changing the checkpoint garbage collection policy of an experiment may result
in the unrecoverable deletion of checkpoints.  Do you wish to proceed?`

func runSetGCPolicy(ctx context.Context, a *app.App, c *client.Client, id int, o gcPolicyOptions) error {
	if !o.yes {
		preview, err := c.PreviewGC(ctx, id, v1.PreviewGCRequest{SaveExperimentBest: &o.experimentBest, SaveTrialBest: &o.trialBest, SaveTrialLatest: &o.trialLatest})
		if err != nil {
			return err
		}
		if err := showPreview(a, preview); err != nil {
			return err
		}
		if err := a.Agreed(ctx, gcPolicyQuestion, "Aborting operations."); err != nil {
			return err
		}
	}
	return runSet(ctx, a, v1.PatchExperiment{ID: id, CheckpointStorage: &v1.PatchCheckpointStorage{SaveExperimentBest: &o.experimentBest,
		SaveTrialBest: &o.trialBest, SaveTrialLatest: &o.trialLatest}},
		fmt.Sprintf("Set GC policy of experiment %d to\n{'save_experiment_best': %d, 'save_trial_best': %d, 'save_trial_latest': %d}",
			id, o.experimentBest, o.trialBest, o.trialLatest))
}

// showPreview lists the validated checkpoints, and counts the others.
func showPreview(a *app.App, preview *v1.PreviewGCResponse) error {
	t := table.New("Trial ID", "# of Batches", "State", "Validation Metric\n("+preview.MetricName+")", "UUID", "Resources")
	slices.SortStableFunc(preview.Checkpoints, func(x, y v1.PreviewGCCheckpoint) int {
		return cmp.Or(cmp.Compare(x.TrialID, y.TrialID), x.ReportTime.Compare(y.ReportTime))
	})
	validated := 0
	for _, k := range preview.Checkpoints {
		if k.Step == nil {
			continue
		}
		validated++
		var metrics map[string]json.RawMessage
		value := ""
		if k.ValidationMetrics.Into(&metrics) == nil {
			value = string(metrics[preview.MetricName])
		}
		t.Row(k.TrialID, k.StepsCompleted, k.State, value, k.UUID, strings.Join(slices.Sorted(maps.Keys(k.Resources)), "\n"))
	}
	if validated > 0 {
		a.Printf("The following checkpoints with validation will be deleted by applying this GC Policy:\n")
		if err := t.Write(a.IO.Out); err != nil {
			return err
		}
	}
	a.Printf("This policy will delete %d checkpoints with validations and %d checkpoints without validations.\n",
		validated, len(preview.Checkpoints)-validated)
	return nil
}
