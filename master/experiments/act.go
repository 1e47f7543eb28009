package experiments

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/models"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

// MaxBulk is the number of experiments, or runs, of one bulk call.
const MaxBulk = 10_000

func (d Deps) act(action Action) func(context.Context, *rest.Call, Experiment, *v1.None) (*v1.Empty, error) {
	return func(ctx context.Context, c *rest.Call, e Experiment, _ *v1.None) (*v1.Empty, error) {
		if hindered, err := d.Hindered(ctx, action, []int{e.ID}); err != nil || hindered[e.ID] != nil {
			return nil, cmp.Or(err, hindered[e.ID])
		}
		had, err := RequestAction(ctx, d.DB, []int{e.ID}, action)
		if err == nil && len(had) == 0 {
			err = Refused(e.Head, action)
		}
		if err != nil {
			return nil, err
		}
		d.Bus.Publish(lifecycle.TopicIntent)
		return &v1.Empty{}, nil
	}
}

// Request requests an action of those of the experiments that nothing hinders. had are those that accept it.
func (d Deps) Request(ctx context.Context, action Action, ids []int) (had []int, hindered map[int]error, err error) {
	if hindered, err = d.Hindered(ctx, action, ids); err != nil {
		return nil, nil, err
	}
	had, err = RequestAction(ctx, d.DB, slices.DeleteFunc(slices.Clone(ids), func(id int) bool { return hindered[id] != nil }), action)
	return had, hindered, err
}

// Hindered returns the experiments for which an action is not possible in any state: they
// cannot be activated when the memory for searches is used up or their pool is not open to their
// workspace, nor deleted when a version of a model has one of their checkpoints.
func (d Deps) Hindered(ctx context.Context, action Action, ids []int) (map[int]error, error) {
	switch action {
	case Activate:
		why, err := d.Memory.NoRoom(ctx, d.DB, ids)
		if err != nil {
			return nil, err
		}
		return inClosedPools(ctx, d.DB, ids, why)
	case Delete:
		list, err := models.ExperimentsWithVersions(ctx, d.DB, ids)
		if err != nil {
			return nil, err
		}
		used, err := checkpoints.ExperimentsInUse(ctx, d.DB, ids)
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

// Refused returns why an action is not possible in an experiment's state.
func Refused(e Head, action Action) error {
	shown := strings.ToLower(strings.ReplaceAll(e.Shown, "_", " "))
	switch {
	case e.Desired == "deleted":
		return fault.New(fault.Invalid, "experiment %d is being deleted", e.ID)
	case e.Unmanaged:
		return fault.New(fault.Invalid, "experiment %d is unmanaged; the master cannot %s it", e.ID, action)
	case (action == Archive || action == Delete) && strings.HasPrefix(e.Shown, "STOPPING_"):
		return fault.New(fault.Invalid, "experiment %d is being stopped; to %s it, wait for its end", e.ID, action)
	case action == Archive || action == Delete:
		return fault.New(fault.Invalid, "experiment %d is %s; to %s it, kill or cancel it first", e.ID, shown, action)
	case action == Activate && lifecycle.State(e.Shown).Terminal():
		return fault.New(fault.Invalid, "experiment %d is %s: there is nothing to %s; `det experiment continue %[1]d` lets it go on", e.ID, shown, action)
	}
	return fault.New(fault.Invalid, "experiment %d is %s: there is nothing to %s", e.ID, shown, action)
}

func (d Deps) actOnMany(action Action) func(context.Context, *rest.Call, workspaces.Project, *v1.BulkRequest) (*v1.BulkResponse, error) {
	verb := auth.Change
	if action == Delete {
		verb = auth.Delete
	}
	return func(ctx context.Context, c *rest.Call, p workspaces.Project, req *v1.BulkRequest) (*v1.BulkResponse, error) {
		list, missing, err := d.Chosen(ctx, c, auth.ScopeOf(c.Who(), auth.View, v1.KindExperiment), p.ID, req)
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
		had, hindered, err := d.Request(ctx, action, mine)
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
				r.Error = Refused(e, action).Error()
			}
			resp.Results = append(resp.Results, r)
		}
		for _, id := range missing {
			resp.Results = append(resp.Results, v1.BulkResult{ID: id, Error: NotFound(id).Error()})
		}
		d.Bus.Publish(lifecycle.TopicIntent)
		return resp, nil
	}
}

// inClosedPools adds to reasons why experiments cannot be activated those whose pool is not open to
// their workspace.
func inClosedPools(ctx context.Context, db *database.DB, ids []int, why map[int]error) (map[int]error, error) {
	list, err := ClosedExperiments(ctx, db, ids, 0, 0)
	for _, e := range list {
		if why == nil {
			why = map[int]error{}
		}
		if why[e.ID] == nil {
			why[e.ID] = fault.New(fault.Invalid, "experiment %d cannot be activated: pool %s is not open to its workspace, because it is bound to others; change its pool with det job update", e.ID, e.Pool)
		}
	}
	return why, err
}
