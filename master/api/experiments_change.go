package api

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/models"
	"github.com/detent-ml/detent/master/names"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

const maxBulk = 10_000 // experiments of one bulk call

func (a *API) act(action experiments.Action) func(context.Context, *rest.Call, experiments.Experiment, *v1.None) (*v1.Empty, error) {
	return func(ctx context.Context, c *rest.Call, e experiments.Experiment, _ *v1.None) (*v1.Empty, error) {
		if hindered, err := a.hindered(ctx, action, []int{e.ID}); err != nil || hindered[e.ID] != nil {
			return nil, cmp.Or(err, hindered[e.ID])
		}
		had, err := experiments.RequestAction(ctx, a.db, []int{e.ID}, action)
		if err == nil && len(had) == 0 {
			err = refusedAction(e.Head, action)
		}
		if err != nil {
			return nil, err
		}
		a.bus.Publish(lifecycle.TopicIntent)
		return &v1.Empty{}, nil
	}
}

// hindered returns the experiments for which an action is not possible in any state: they
// cannot be activated when the memory for searches is used up or their pool is not open to their
// workspace, nor deleted when a version of a model has one of their checkpoints.
func (a *API) hindered(ctx context.Context, action experiments.Action, ids []int) (map[int]error, error) {
	switch action {
	case experiments.Activate:
		why, err := a.memory.NoRoom(ctx, a.db, ids)
		if err != nil {
			return nil, err
		}
		return a.inClosedPools(ctx, ids, why)
	case experiments.Delete:
		list, err := models.ExperimentsWithVersions(ctx, a.db, ids)
		if err != nil {
			return nil, err
		}
		used, err := checkpoints.ExperimentsInUse(ctx, a.db, ids)
		why := make(map[int]error, len(list)+len(used))
		for id, by := range used {
			why[id] = fault.New(fault.Invalid, "experiment %d cannot be deleted: %s; end that one first", id, by)
		}
		for id, versions := range list {
			why[id] = fault.New(fault.Invalid, "experiment %d cannot be deleted: checkpoints are registered as model versions; delete these versions first: %s", id, versions)
		}
		return why, err
	}
	return nil, nil
}

// refusedAction returns why an action is not possible in an experiment's state.
func refusedAction(e experiments.Head, action experiments.Action) error {
	shown := strings.ToLower(strings.ReplaceAll(e.Shown, "_", " "))
	switch {
	case e.Desired == "deleted":
		return fault.New(fault.Invalid, "experiment %d is being deleted", e.ID)
	case e.Unmanaged:
		return fault.New(fault.Invalid, "experiment %d is unmanaged; the master cannot %s it", e.ID, action)
	case (action == experiments.Archive || action == experiments.Delete) && strings.HasPrefix(e.Shown, "STOPPING_"):
		return fault.New(fault.Invalid, "experiment %d is being stopped; to %s it, wait for its end", e.ID, action)
	case action == experiments.Archive || action == experiments.Delete:
		return fault.New(fault.Invalid, "experiment %d is %s; to %s it, kill or cancel it first", e.ID, shown, action)
	}
	return fault.New(fault.Invalid, "experiment %d is %s: there is nothing to %s", e.ID, shown, action)
}

func (a *API) actOnMany(action experiments.Action) func(context.Context, *rest.Call, workspaces.Project, *v1.BulkRequest) (*v1.BulkResponse, error) {
	verb := auth.Change
	if action == experiments.Delete {
		verb = auth.Delete
	}
	return func(ctx context.Context, c *rest.Call, p workspaces.Project, req *v1.BulkRequest) (*v1.BulkResponse, error) {
		list, missing, err := a.chosen(ctx, c, auth.ScopeOf(c.Who(), auth.View, v1.KindExperiment), p.ID, req)
		if err != nil {
			return nil, err
		}
		resp := &v1.BulkResponse{}
		var mine []int
		for _, e := range list {
			if auth.Can(c.Who(), verb, e.Object()) {
				mine = append(mine, e.ID)
			}
		}
		hindered, err := a.hindered(ctx, action, mine)
		if err != nil {
			return nil, err
		}
		mine = slices.DeleteFunc(mine, func(id int) bool { return hindered[id] != nil })
		had, err := experiments.RequestAction(ctx, a.db, mine, action)
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			r := v1.BulkResult{ID: e.ID}
			if may := c.May(verb, e.Object()); may != nil {
				r.Error = may.Error()
			} else if why := hindered[e.ID]; why != nil {
				r.Error = why.Error()
			} else if !slices.Contains(had, e.ID) {
				r.Error = refusedAction(e, action).Error()
			}
			resp.Results = append(resp.Results, r)
		}
		for _, id := range missing {
			resp.Results = append(resp.Results, v1.BulkResult{ID: id, Error: experiments.NotFound(id).Error()})
		}
		a.bus.Publish(lifecycle.TopicIntent)
		return resp, nil
	}
}

// chosen finds the experiments of a bulk call, and returns the ids that it did not find.
func (a *API) chosen(ctx context.Context, c *rest.Call, in auth.Scope, project int, req *v1.BulkRequest) (list []experiments.Head, missing []int, err error) {
	f := experiments.Filter{ProjectID: project, IDs: req.ExperimentIDs}
	if req.Filters != nil {
		x := req.Filters
		if err := experiments.CheckPatterns(x.Name, x.Description); err != nil {
			return nil, nil, err
		}
		f = experiments.Filter{ProjectID: project, Name: x.Name, Description: x.Description, Labels: x.Labels,
			Archived: x.Archived, UserIDs: x.UserIDs, NotIDs: x.ExcludedExperimentIDs}
		if f.States, err = experimentStates(x.States); err != nil {
			return nil, nil, err
		}
		list, err = rest.InTurn(ctx, c, func(ctx context.Context) ([]experiments.Head, error) {
			return experiments.ListHeads(ctx, a.db, in, f, maxBulk)
		})
		return list, nil, err
	}
	if len(req.ExperimentIDs) == 0 {
		return nil, nil, nil
	}
	if n := len(req.ExperimentIDs); n > maxBulk {
		return nil, nil, fault.New(fault.Invalid, "experimentIds: %d experiments are over the limit of %d", n, maxBulk)
	}
	if list, err = experiments.ListHeads(ctx, a.db, in, f, maxBulk); err != nil {
		return nil, nil, err
	}
	answered := make(map[int]bool, len(list))
	for _, e := range list {
		answered[e.ID] = true
	}
	for _, id := range req.ExperimentIDs {
		if !answered[id] {
			missing, answered[id] = append(missing, id), true
		}
	}
	return list, missing, nil
}

func (a *API) patchExperiment(ctx context.Context, c *rest.Call, e experiments.Experiment, req *v1.PatchExperiment) (*v1.PatchExperimentResponse, error) {
	ch, err := experimentPatch(e, req)
	if err != nil {
		return nil, err
	}
	if err := a.allowed(ctx, e.WorkspaceID, workspaces.WorkloadExperiment, launch.Change{Priority: ch.Priority, MaxSlots: ch.MaxSlots, Weight: ch.Weight}); err != nil {
		return nil, err
	}
	if err := a.admitChange(ctx, c, e.OwnerID, optional.Length(req.Name, req.Description, req.Notes)); err != nil {
		return nil, err
	}
	if err := experiments.Change(ctx, a.db, e.ID, ch); err != nil {
		return nil, err
	}
	a.bus.Publish(lifecycle.TopicIntent)
	if e, err = experiments.Get(ctx, a.db, e.ID); err != nil {
		return nil, err
	}
	w, err := a.fullExperiment(ctx, e, c.Who())
	return &v1.PatchExperimentResponse{Experiment: &w}, err
}

// experimentPatch checks a change. Fields that are null stay unchanged.
func experimentPatch(e experiments.Experiment, req *v1.PatchExperiment) (experiments.Patch, error) {
	ch := experiments.Patch{Name: req.Name, Description: req.Description, Notes: req.Notes}
	if req.Name != nil {
		if err := names.Check("name", *req.Name, names.MaxText); err != nil {
			return ch, err
		}
	}
	for what, s := range map[string]*string{"description": req.Description, "notes": req.Notes} {
		if err := names.CheckText(what, optional.Value(s)); err != nil {
			return ch, err
		}
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

func (a *API) changeLabel(add bool) func(context.Context, *rest.Call, experiments.Experiment, *v1.None) (*v1.PutExperimentLabelResponse, error) {
	return func(ctx context.Context, c *rest.Call, e experiments.Experiment, _ *v1.None) (*v1.PutExperimentLabelResponse, error) {
		label := c.Param("*")
		if err := names.Check("label", label, names.MaxText); err != nil {
			return nil, err
		}
		check := func([]string) error { return nil }
		if add {
			check = names.CheckLabels
		}
		labels, err := experiments.ChangeLabel(ctx, a.db, e.ID, label, add, check)
		return &v1.PutExperimentLabelResponse{Labels: labels}, err
	}
}
