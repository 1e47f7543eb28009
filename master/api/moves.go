package api

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerMoves() {
	handle(a, "POST", "/experiments/:id/move", person, "Move an experiment to another project", a.moveExperiment)
	handle(a, "POST", "/projects/:id/experiments/move", person, "Move experiments to another project, many at once", a.moveExperiments, bodyLimit(reportBody))
	handle(a, "POST", "/projects/:id/move", person, "Move a project to another workspace", a.moveProject)
}

// moveRequest names a project.
type moveRequest struct {
	DestinationProjectID int `json:"destinationProjectId"`
	ExperimentID         int `json:"experimentId"`
}

func (a *API) moveExperiment(ctx context.Context, c *call, req *moveRequest) (*empty, error) {
	e, err := a.experimentFor(ctx, c, auth.Change)
	if err != nil {
		return nil, err
	}
	p, err := a.destination(ctx, req.DestinationProjectID)
	if err != nil {
		return nil, err
	}
	if e.ParentArchived {
		return nil, fault.New(fault.Conflict, "project %q, where experiment %d is, is archived; unarchive it first", e.ProjectName, e.ID)
	}
	return &empty{}, a.db.MoveExperiment(ctx, e.ID, p.ID)
}

// destination is a project that experiments can be moved to.
func (a *API) destination(ctx context.Context, id int) (store.Project, error) {
	p, err := a.db.Project(ctx, id)
	switch {
	case fault.Is(err, fault.NotFound):
		return p, fault.New(fault.NotFound, "destinationProjectId: project %d not found", id)
	case err == nil && (p.Archived || p.WorkspaceArchived):
		return p, fault.New(fault.Conflict, "project %q is archived; unarchive it first", p.Name)
	}
	return p, err
}

// moveManyRequest chooses experiments of a project, and another project for them.
type moveManyRequest struct {
	DestinationProjectID int                       `json:"destinationProjectId"`
	ExperimentIDs        []int                     `json:"experimentIds"`
	Filters              *v1.BulkExperimentFilters `json:"filters,omitempty"`
	ProjectID            int                       `json:"projectId"`
}

func (a *API) moveExperiments(ctx context.Context, c *call, req *moveManyRequest) (*bulkResponse, error) {
	from, err := a.projectFor(ctx, c, auth.View)
	if err != nil {
		return nil, err
	}
	if from.Archived || from.WorkspaceArchived {
		return nil, fault.New(fault.Conflict, "project %q is archived; unarchive it first", from.Name)
	}
	to, err := a.destination(ctx, req.DestinationProjectID)
	if err != nil {
		return nil, err
	}
	list, missing, err := a.chosen(ctx, from.ID, &bulkRequest{ExperimentIDs: req.ExperimentIDs, Filters: req.Filters})
	if err != nil {
		return nil, err
	}
	resp := &bulkResponse{}
	for _, e := range list {
		err := c.may(auth.Change, auth.Object{Kind: "experiment", OwnerID: e.OwnerID})
		if err == nil {
			err = a.db.MoveExperiment(ctx, e.ID, to.ID)
		}
		if err != nil && fault.CodeOf(err) == fault.Internal {
			return nil, err
		}
		r := bulkResult{ID: e.ID}
		if err != nil {
			r.Error = err.Error()
		}
		resp.Results = append(resp.Results, r)
	}
	for _, id := range missing {
		resp.Results = append(resp.Results, bulkResult{ID: id, Error: store.NoExperiment(id).Error()})
	}
	return resp, nil
}

// moveProjectRequest names a workspace.
type moveProjectRequest struct {
	DestinationWorkspaceID int `json:"destinationWorkspaceId"`
	ProjectID              int `json:"projectId"`
}

func (a *API) moveProject(ctx context.Context, c *call, req *moveProjectRequest) (*empty, error) {
	p, err := a.projectFor(ctx, c, auth.Change)
	if err != nil {
		return nil, err
	}
	w, err := a.db.Workspace(ctx, req.DestinationWorkspaceID)
	switch {
	case fault.Is(err, fault.NotFound):
		return nil, fault.New(fault.NotFound, "destinationWorkspaceId: workspace %d not found", req.DestinationWorkspaceID)
	case err != nil:
		return nil, err
	case w.Archived:
		return nil, fault.New(fault.Conflict, "workspace %q is archived; unarchive it first", w.Name)
	case p.Archived || p.WorkspaceArchived:
		return nil, fault.New(fault.Conflict, "project %q is archived; unarchive it first", p.Name)
	}
	return &empty{}, a.db.MoveProject(ctx, p.ID, w.ID)
}
