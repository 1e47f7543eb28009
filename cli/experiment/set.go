package experiment

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/complete"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

func newSet(a *app.App) *cobra.Command {
	return noun.New("set", "change an experiment", nil, nil,
		newSetGCPolicy(a), newSetLogRetention(a),
		newSetField(a, "name", "a name", func(p *v1.PatchExperiment, v string) (string, error) {
			p.Name = &v
			return fmt.Sprintf("Set name of experiment %d to '%s'", p.ID, v), nil
		}),
		newSetField(a, "description", "a description", func(p *v1.PatchExperiment, v string) (string, error) {
			p.Description = &v
			return fmt.Sprintf("Set description of experiment %d to '%s'", p.ID, v), nil
		}),
		newSetField(a, "max-slots", "a number of slots", func(p *v1.PatchExperiment, v string) (string, error) {
			n, err := whole("max-slots", v, 0)
			p.Resources = &v1.PatchResources{MaxSlots: &n}
			return fmt.Sprintf("Set `max_slots` of experiment %d to %d", p.ID, n), err
		}),
		newSetField(a, "priority", "a priority", func(p *v1.PatchExperiment, v string) (string, error) {
			n, err := whole("priority", v, 1)
			p.Resources = &v1.PatchResources{Priority: &n}
			return fmt.Sprintf("Set `priority` of experiment %d to %d", p.ID, n), err
		}),
		newSetField(a, "weight", "a weight", func(p *v1.PatchExperiment, v string) (string, error) {
			w, err := strconv.ParseFloat(v, 64)
			if err != nil || !(w > 0) {
				return "", &exit.UsageError{Message: fmt.Sprintf("the weight %q is not a number above 0", v)}
			}
			p.Resources = &v1.PatchResources{Weight: &w}
			return fmt.Sprintf("Set `weight` of experiment %d to %s", p.ID, table.Float(w)), nil
		}))
}

func whole(what, value string, least int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < least {
		return 0, &exit.UsageError{Message: fmt.Sprintf("the value %q for %s is not a whole number of %d or more", value, what, least)}
	}
	return n, nil
}

// newSetField makes a verb; fill sets the value in a patch and returns the message for success.
func newSetField(a *app.App, field, value string, fill func(*v1.PatchExperiment, string) (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:               field + " EXPERIMENT_ID VALUE",
		Short:             "set the " + field + " of an experiment",
		Args:              args.Exactly("the ID of an experiment", value),
		ValidArgsFunction: complete.Experiments(a),
		RunE: func(cmd *cobra.Command, given []string) error {
			id, err := args.ID(anExperiment, given[0])
			if err != nil {
				return err
			}
			patch := v1.PatchExperiment{ID: id}
			done, err := fill(&patch, given[1])
			if err != nil {
				return err
			}
			return runSet(cmd.Context(), a, patch, done)
		},
	}
}

func runSet(ctx context.Context, a *app.App, patch v1.PatchExperiment, done string) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	_, err = client.Send(ctx, c, v1.ChangeExperiment, patch, patch.ID)
	return a.Say(err, "%s\n", done)
}
