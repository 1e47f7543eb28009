package experiments

import (
	"context"
	"slices"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/names"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (d Deps) change(ctx context.Context, c *rest.Call, e Experiment, req *v1.PatchExperiment) (*v1.PatchExperimentResponse, error) {
	ch, err := experimentPatch(e, req)
	if err != nil {
		return nil, err
	}
	if err := d.Allowed(ctx, e.WorkspaceID, ch); err != nil {
		return nil, err
	}
	if err := d.Users.AdmitChange(ctx, c, e.OwnerID, optional.Length(req.Name, req.Description, req.Notes)); err != nil {
		return nil, err
	}
	if err := Change(ctx, d.DB, e.ID, ch); err != nil {
		return nil, err
	}
	d.Bus.Publish(lifecycle.TopicIntent)
	if e, err = Get(ctx, d.DB, e.ID); err != nil {
		return nil, err
	}
	w, err := d.Full(ctx, e, c.Who())
	return &v1.PatchExperimentResponse{Experiment: &w}, err
}

// experimentPatch checks a change. Fields that are null stay unchanged.
func experimentPatch(e Experiment, req *v1.PatchExperiment) (Patch, error) {
	ch := Patch{Name: req.Name, Description: req.Description, Notes: req.Notes}
	if req.Name != nil {
		if err := names.Check("name", *req.Name, names.MaxText); err != nil {
			return ch, err
		}
	}
	if err := names.CheckTexts(map[string]*string{"description": req.Description, "notes": req.Notes}); err != nil {
		return ch, err
	}
	if req.Labels != nil {
		ch.Labels = sortedLabels(req.Labels)
		if err := names.CheckLabels(ch.Labels); err != nil {
			return ch, err
		}
	}
	if s := req.CheckpointStorage; s != nil {
		ch.Storage = map[string]int{}
		for key, n := range map[string]*int{"save_experiment_best": s.SaveExperimentBest, "save_trial_best": s.SaveTrialBest, "save_trial_latest": s.SaveTrialLatest} {
			if n == nil {
				continue
			}
			if *n < 0 {
				return ch, fault.New(fault.Invalid, "checkpointStorage: %s: expected a number of checkpoints, found %d", key, *n)
			}
			ch.Storage[key] = *n
		}
	}
	r := req.Resources
	if r == nil {
		return ch, nil
	}
	switch {
	case e.Desired == "deleted":
		return ch, fault.New(fault.Invalid, "experiment %d is being deleted", e.ID)
	case e.Terminal():
		return ch, fault.New(fault.Invalid, "experiment %d has ended; its resources cannot be changed", e.ID)
	case r.MaxSlots != nil && *r.MaxSlots < 0:
		return ch, fault.New(fault.Invalid, "resources.maxSlots: %d is negative", *r.MaxSlots)
	}
	if err := queue.CheckShare(r.Priority, r.Weight); err != nil {
		return ch, err
	}
	ch.MaxSlots, ch.Weight, ch.Priority = r.MaxSlots, r.Weight, r.Priority
	return ch, nil
}

// sortedLabels are the labels in their order, each once.
func sortedLabels(labels []string) []string {
	out := append([]string{}, labels...)
	slices.Sort(out)
	return slices.Compact(out)
}

func (d Deps) changeLabel(add bool) func(context.Context, *rest.Call, Experiment, *v1.None) (*v1.PutExperimentLabelResponse, error) {
	return func(ctx context.Context, c *rest.Call, e Experiment, _ *v1.None) (*v1.PutExperimentLabelResponse, error) {
		label := c.Param("*")
		if err := names.Check("label", label, names.MaxText); err != nil {
			return nil, err
		}
		check := func([]string) error { return nil }
		if add {
			check = names.CheckLabels
		}
		labels, err := ChangeLabel(ctx, d.DB, e.ID, label, add, check)
		return &v1.PutExperimentLabelResponse{Labels: labels}, err
	}
}
