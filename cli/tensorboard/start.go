package tensorboard

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/cli/internal/tasks"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

const startLong = `Starts a TensorBoard for experiments, for trials or for both, waits until it is
ready, and opens it in the browser. The master ends the TensorBoard when nobody
has used it for idle_timeout, which is five minutes unless the cluster has
another default.`

type startOptions struct {
	tasks.Launch
	trials    trials
	noBrowser bool
}

// trials is the value of a flag that includes all words after it, as in --trial-ids 7 8, like
// in Determined's client. Words before the flag are experiments.
type trials struct {
	flags  interface{ NArg() int }
	given  []string
	before int // number of words before the flag
}

func (t *trials) String() string { return strings.Join(t.given, ",") }
func (t *trials) Type() string   { return "ids" }

func (t *trials) Set(s string) error {
	if len(t.given) == 0 {
		t.before = t.flags.NArg()
	}
	t.given = append(t.given, s)
	return nil
}

// split separates experiments from trials.
func (t *trials) split(words []string) (experiments, trials []string) {
	if len(t.given) == 0 {
		return words, nil
	}
	return words[:t.before], append(slices.Clone(t.given), words[t.before:]...)
}

func newStart(a *app.App) *cobra.Command {
	var o startOptions
	cmd := &cobra.Command{
		Use:   "start [EXPERIMENT_ID...]",
		Short: "start a TensorBoard",
		Long:  startLong,
		Example: `  det tensorboard start 7
  det tensorboard start --no-browser --trial-ids 12 13`,
		Args: func(cmd *cobra.Command, given []string) error {
			if len(given) == 0 && len(o.trials.given) == 0 {
				return args.Wrong(cmd, "%s needs something to show: the IDs of experiments, or --trial-ids", cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: complete.Experiments(a),
		RunE:              func(cmd *cobra.Command, given []string) error { return o.start(cmd.Context(), a, given) },
	}
	o.Flags(cmd, "TensorBoard")
	o.trials.flags = cmd.Flags()
	cmd.Flags().VarP(&o.trials, "trial-ids", "t", "show these trials: all IDs after the flag")
	cmd.Flags().BoolVar(&o.noBrowser, "no-browser", false, "print the address and do not open a browser")
	return cmd
}

func (o *startOptions) start(ctx context.Context, a *app.App, given []string) error {
	req := v1.LaunchTensorboardRequest{}
	var err error
	experiments, trials := o.trials.split(given)
	if len(experiments) > 0 {
		if req.ExperimentIDs, err = args.IDs("an experiment", experiments); err != nil {
			return err
		}
	}
	if len(trials) > 0 {
		if req.TrialIDs, err = args.IDs("a trial", trials); err != nil {
			return err
		}
	}
	c, r, err := o.Request(ctx, a, nil)
	if err != nil {
		return err
	}
	req.Config, req.Files, req.TemplateName, req.WorkspaceID = r.Config, r.Files, r.Template, r.WorkspaceID
	resp, err := client.Send(ctx, c, v1.CreateTensorboard, req)
	if err != nil {
		return err
	}
	if o.Launched(a, "tensorboard", resp.Tensorboard.ID, resp.Tensorboard.Description, resp.Warnings, resp.Remarks) {
		return nil
	}
	k := kind()
	if err := k.Await(ctx, a, c, resp.Tensorboard.ID); err != nil {
		return err
	}
	return k.Show(ctx, a, c, item(resp.Tensorboard), running, !o.noBrowser)
}
