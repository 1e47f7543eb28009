package experiments

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

func (d Deps) move(ctx context.Context, c *rest.Call, e Experiment, req *v1.MoveRequest) (*v1.Empty, error) {
	p, err := d.Destination(ctx, c, req.DestinationProjectID)
	if err != nil {
		return nil, err
	}
	if e.Archived {
		return nil, fault.New(fault.Conflict, "experiment (%d) is archived and cannot be moved: unarchive it first", e.ID)
	}
	if e.ParentArchived {
		return nil, fault.New(fault.Conflict, "project %q of experiment %d is archived; unarchive it first", e.ProjectName, e.ID)
	}
	return &v1.Empty{}, Move(ctx, d.DB, e.ID, p, d.MayMove)
}

// Destination is a project to which the caller can move experiments.
func (d Deps) Destination(ctx context.Context, c *rest.Call, id int) (workspaces.Project, error) {
	p, err := workspaces.ProjectByID(ctx, d.DB, id)
	switch {
	case fault.Is(err, fault.NotFound), err == nil && !auth.Sees(c.Who(), p.Object()):
		return workspaces.Project{}, fault.New(fault.NotFound, "destinationProjectId: project %d not found", id)
	case err == nil && (p.Archived || p.WorkspaceArchived):
		return p, fault.New(fault.Conflict, "project %q is archived; unarchive it first", p.Name)
	}
	if err == nil {
		err = c.May(auth.Create, auth.Object{Kind: v1.KindExperiment, WorkspaceID: p.WorkspaceID})
	}
	return p, err
}

func (d Deps) moveMany(ctx context.Context, c *rest.Call, from workspaces.Project, req *v1.MoveManyRequest) (*v1.BulkResponse, error) {
	if from.Archived || from.WorkspaceArchived {
		return nil, fault.New(fault.Conflict, "project %q is archived; unarchive it first", from.Name)
	}
	to, err := d.Destination(ctx, c, req.DestinationProjectID)
	if err != nil {
		return nil, err
	}
	list, missing, err := d.Chosen(ctx, c, auth.ScopeOf(c.Who(), auth.View, v1.KindExperiment), from.ID, &v1.BulkRequest{ExperimentIDs: req.ExperimentIDs, Filters: req.Filters})
	if err != nil {
		return nil, err
	}
	resp := &v1.BulkResponse{}
	for _, e := range list {
		err := c.May(auth.Change, e.Object())
		if err == nil && e.Archived {
			err = fault.New(fault.Conflict, "Experiment is archived.")
		}
		if err == nil {
			err = Move(ctx, d.DB, e.ID, to, d.MayMove)
		}
		if err != nil && fault.CodeOf(err) == fault.Internal {
			return nil, err
		}
		r := v1.BulkResult{ID: e.ID}
		if err != nil {
			r.Error = err.Error()
		}
		resp.Results = append(resp.Results, r)
	}
	for _, id := range missing {
		resp.Results = append(resp.Results, v1.BulkResult{ID: id, Error: NotFound(id).Error()})
	}
	return resp, nil
}

func (d Deps) moveProject(ctx context.Context, c *rest.Call, p workspaces.Project, req *v1.MoveProjectRequest) (*v1.Empty, error) {
	w, err := workspaces.Get(ctx, d.DB, req.DestinationWorkspaceID)
	switch {
	case fault.Is(err, fault.NotFound), err == nil && !auth.Sees(c.Who(), w.Object()):
		return nil, fault.New(fault.NotFound, "destinationWorkspaceId: workspace %d not found", req.DestinationWorkspaceID)
	case err != nil:
		return nil, err
	}
	if err := w.TakesProjects(); err != nil {
		return nil, err
	}
	if err := c.May(auth.Create, auth.Object{Kind: v1.KindProject, WorkspaceID: w.ID}); err != nil {
		return nil, err
	}
	if err := p.Unarchived(); err != nil {
		return nil, err
	}
	return &v1.Empty{}, MoveProject(ctx, d.DB, p, w.ID, d.MayMove)
}
