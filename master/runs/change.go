package runs

import (
	"context"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/find"
	"github.com/detent-ml/detent/master/find/query"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

// refusals maps the ids of runs to the reasons why they were not changed.
type refusals map[int]error

// split divides runs into those that check accepts and those that it rejects.
func split(list []Head, check func(Head) error) ([]Head, refusals) {
	var pass []Head
	no := refusals{}
	for _, r := range list {
		if no[r.ID] = check(r); no[r.ID] == nil {
			pass = append(pass, r)
		}
	}
	return pass, no
}

func runIDs(list []Head) []int { return each.Of(list, func(r Head) int { return r.ID }) }

// experimentsOf returns the experiments of runs, each once.
func experimentsOf(list []Head) []int {
	ids := each.Of(list, func(r Head) int { return r.ExperimentID })
	slices.Sort(ids)
	return slices.Compact(ids)
}

func headOfRun(r Head) auth.Object {
	return auth.Object{Kind: v1.KindRun, OwnerID: r.OwnerID, WorkspaceID: r.WorkspaceID, TrialID: r.ID}
}

// changing makes the handler of an endpoint that changes runs. A run that the caller may not change, or
// that does not exist, has an error of its own in the answer; the handler changes the others.
func (d Deps) changing(act func(ctx context.Context, list []Head) (refusals, error)) func(context.Context, *rest.Call, *v1.RunsRequest) (*v1.RunsResponse, error) {
	return func(ctx context.Context, c *rest.Call, req *v1.RunsRequest) (*v1.RunsResponse, error) {
		return d.changeRuns(ctx, c, auth.Change, req, act)
	}
}

func (d Deps) delete(ctx context.Context, c *rest.Call, req *v1.RunsRequest) (*v1.RunsResponse, error) {
	return d.changeRuns(ctx, c, auth.Delete, req, d.deleteWhole)
}

func (d Deps) changeRuns(ctx context.Context, c *rest.Call, verb auth.Verb, req *v1.RunsRequest, act func(ctx context.Context, list []Head) (refusals, error)) (*v1.RunsResponse, error) {
	list, err := d.chosenRuns(ctx, c, auth.ScopeOf(c.Who(), auth.View, v1.KindRun), req)
	if err != nil {
		return nil, err
	}
	mine, refused := split(list, func(r Head) error { return c.May(verb, headOfRun(r)) })
	no, err := act(ctx, mine)
	if err != nil {
		return nil, err
	}
	resp := &v1.RunsResponse{}
	for _, r := range list {
		result := v1.RunActionResult{ID: r.ID}
		for _, why := range []error{refused[r.ID], no[r.ID]} {
			if why != nil {
				result.Error = why.Error()
			}
		}
		resp.Results = append(resp.Results, result)
	}
	for _, id := range rest.Missing(req.RunIDs, runIDs(list)) {
		why := fault.New(fault.NotFound, "Run with id '%d' not found", id)
		if req.ProjectID != nil {
			why = fault.New(fault.NotFound, "Run with id '%d' not found in project with id '%d'", id, *req.ProjectID)
		}
		resp.Results = append(resp.Results, v1.RunActionResult{ID: id, Error: why.Error()})
	}
	d.Bus.Publish(lifecycle.TopicIntent)
	return resp, nil
}

// chosenRuns finds the runs of a request, by its ids or by its filter.
func (d Deps) chosenRuns(ctx context.Context, c *rest.Call, in auth.Scope, req *v1.RunsRequest) ([]Head, error) {
	switch {
	case len(req.RunIDs) > 0 && req.Filter != nil:
		return nil, fault.New(fault.Invalid, "if filter is provided run id list must be empty")
	case len(req.RunIDs) == 0 && req.Filter == nil:
		return nil, nil
	case len(req.RunIDs) > experiments.MaxBulk:
		return nil, fault.New(fault.Invalid, "runIds: %d runs are over the limit of %d", len(req.RunIDs), experiments.MaxBulk)
	}
	q, err := query.Parse(find.Runs, req.ProjectID, req.Filter, nil, nil, time.Now())
	if err != nil {
		return nil, err
	}
	if req.Filter == nil {
		q.IDs, q.Filter.Archived = req.RunIDs, true
	}
	if req.Filter == nil {
		return Heads(ctx, d.DB, in, q, experiments.MaxBulk)
	}
	list, err := rest.InTurn(ctx, c, func(ctx context.Context) ([]Head, error) { return Heads(ctx, d.DB, in, q, experiments.MaxBulk+1) })
	if len(list) > experiments.MaxBulk {
		return nil, fault.New(fault.Invalid, "filter: more than %d runs match; narrow it, because one request changes at most so many", experiments.MaxBulk)
	}
	return list, err
}

func (d Deps) kill(ctx context.Context, list []Head) (refusals, error) {
	return nil, experiments.KillTrials(ctx, d.DB, runIDs(list))
}

// steer pauses or activates the experiments of runs. It rejects a run of a search, because only
// the whole search can be paused.
func (d Deps) steer(action experiments.Action, failed string) func(context.Context, []Head) (refusals, error) {
	return func(ctx context.Context, list []Head) (refusals, error) {
		pass, no := split(list, func(r Head) error {
			switch {
			case r.Archived || r.ExperimentArchived || r.ParentArchived:
				return fault.New(fault.Conflict, "Run is archived.")
			case r.MultiTrial:
				return fault.New(fault.Invalid, "Cannot pause/unpause run '%d' (part of multi-trial).", r.ID)
			}
			return nil
		})
		ids := experimentsOf(pass)
		had, hindered, err := d.Experiments.Request(ctx, action, ids)
		if err != nil {
			return nil, err
		}
		for _, r := range pass {
			why := hindered[r.ExperimentID]
			if why == nil && !slices.Contains(had, r.ExperimentID) {
				why = experiments.Refused(experimentOfRun(r), action)
			}
			if why != nil {
				no[r.ID] = fault.New(fault.CodeOf(why), "%s%w", failed, why)
			}
		}
		return no, nil
	}
}

// experimentOfRun names the experiment of a run in errors. An experiment with a single trial has the
// state of that trial.
func experimentOfRun(r Head) experiments.Head {
	return experiments.Head{ID: r.ExperimentID, OwnerID: r.OwnerID, WorkspaceID: r.WorkspaceID, State: r.Shown, Shown: r.Shown, Unmanaged: r.Unmanaged}
}

// archive archives or unarchives runs. Runs that are already archived, or not, as requested, count
// as changed.
func (d Deps) archive(archive bool) func(context.Context, []Head) (refusals, error) {
	return func(ctx context.Context, list []Head) (refusals, error) {
		pass, no := split(list, func(r Head) error {
			switch {
			case r.ExperimentArchived:
				return fault.New(fault.Conflict, "Run is part of archived Search (id: '%d').", r.ExperimentID)
			case r.Archived != archive && !r.Ended:
				return fault.New(fault.Invalid, "Run is not in terminal state.")
			}
			return nil
		})
		_, err := Archive(ctx, d.DB, runIDs(pass), archive)
		return no, err
	}
}

// deleteWhole deletes the experiments of runs with their data. The request must name all runs of a
// search, because a search cannot be computed again without one of its runs.
func (d Deps) deleteWhole(ctx context.Context, list []Head) (refusals, error) {
	pass, no := split(list, func(r Head) error {
		if !r.Ended {
			return fault.New(fault.Invalid, "Run is not in a terminal state.")
		}
		return nil
	})
	whole, err := WholeExperiments(ctx, d.DB, runIDs(pass))
	if err != nil {
		return nil, err
	}
	had, hindered, err := d.Experiments.Request(ctx, experiments.Delete, whole)
	if err != nil {
		return nil, err
	}
	for _, r := range pass {
		switch {
		case !slices.Contains(whole, r.ExperimentID):
			no[r.ID] = fault.New(fault.Invalid, "Run is part of search %d, which has other runs too; delete all of them together, or the experiment.", r.ExperimentID)
		case hindered[r.ExperimentID] != nil:
			no[r.ID] = hindered[r.ExperimentID]
		case !slices.Contains(had, r.ExperimentID):
			no[r.ID] = fault.New(fault.Invalid, "experiment %d is not over, or is being deleted", r.ExperimentID)
		}
	}
	return no, nil
}

func (d Deps) move(ctx context.Context, c *rest.Call, req *v1.MoveRunsRequest) (*v1.RunsResponse, error) {
	from, err := workspaces.ProjectByID(ctx, d.DB, req.SourceProjectID)
	if err == nil {
		err = c.May(auth.View, from.Object())
	}
	if fault.Is(err, fault.NotFound) {
		err = fault.New(fault.NotFound, "sourceProjectId: project %d not found", req.SourceProjectID)
	}
	if err != nil {
		return nil, err
	}
	if from.Archived || from.WorkspaceArchived {
		return nil, fault.New(fault.Conflict, "project %q is archived; unarchive it first", from.Name)
	}
	to, err := d.Experiments.Destination(ctx, c, req.DestinationProjectID)
	if err != nil {
		return nil, err
	}
	return d.changeRuns(ctx, c, auth.Change, &v1.RunsRequest{RunIDs: req.RunIDs, Filter: req.Filter, ProjectID: &from.ID},
		func(ctx context.Context, list []Head) (refusals, error) {
			return d.moveExperimentsOf(ctx, list, to, optional.Value(req.SkipMultitrial))
		})
}

// moveExperimentsOf moves the experiments of runs, with all their runs.
func (d Deps) moveExperimentsOf(ctx context.Context, list []Head, to workspaces.Project, skipMulti bool) (refusals, error) {
	pass, no := split(list, func(r Head) error {
		switch {
		case r.Archived || r.ExperimentArchived:
			return fault.New(fault.Conflict, "Run is archived.")
		case r.MultiTrial && skipMulti:
			return fault.New(fault.Invalid, "Skipping run '%d' (part of multi-trial).", r.ID)
		}
		return nil
	})
	failed := map[int]error{}
	for _, id := range experimentsOf(pass) {
		err := experiments.Move(ctx, d.DB, id, to, d.Experiments.MayMove)
		if err != nil && fault.CodeOf(err) == fault.Internal {
			return nil, err
		}
		failed[id] = err
	}
	for _, r := range pass {
		if why := failed[r.ExperimentID]; why != nil {
			no[r.ID] = fault.New(fault.CodeOf(why), "Failed to move associated experiment: %w", why)
		}
	}
	return no, nil
}
