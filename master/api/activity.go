package api

import (
	"cmp"
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// maxVisited bounds the list of the projects that a user has looked at.
const maxVisited = 1000

func (a *API) registerActivity() {
	rest.Serve(a.router, v1.PostUserActivity, a.postUserActivity)
	rest.Serve(a.router, v1.ListVisitedProjects, a.visitedProjects)
}

// postUserActivity notes that a user looked at a project.
func (a *API) postUserActivity(ctx context.Context, c *rest.Call, req *v1.PostUserActivityRequest) (*v1.None, error) {
	if req.ActivityType != v1.ActivityTypeGet {
		return nil, fault.New(fault.Invalid, "activityType: expected %s", v1.ActivityTypeGet)
	}
	if req.EntityType != v1.EntityTypeProject {
		return nil, fault.New(fault.Invalid, "entityType: expected %s", v1.EntityTypeProject)
	}
	p, err := a.db.Project(ctx, req.EntityID)
	if err == nil {
		err = a.onProject().Allow(c, auth.View, p)
	}
	if err != nil {
		return nil, err
	}
	return &v1.None{}, a.db.NoteVisit(ctx, c.Who().UserID, p.ID)
}

func (a *API) visitedProjects(ctx context.Context, c *rest.Call, req *v1.GetVisitedProjectsRequest) (*v1.GetProjectsByUserActivityResponse, error) {
	limit, err := rest.Between("limit", req.Limit, maxVisited, maxVisited)
	if err != nil {
		return nil, err
	}
	list, err := a.db.VisitedProjects(ctx, c.Scope(), c.Who().UserID, cmp.Or(limit, maxVisited))
	if err != nil {
		return nil, err
	}
	resp := &v1.GetProjectsByUserActivityResponse{}
	resp.Projects, err = a.projectWires(ctx, list)
	return resp, err
}
