package launch

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/workspaces"
)

// projectOf finds the project of an experiment: by the request's id, by the
// configuration's names, else the default one.
func projectOf(ctx context.Context, db *database.DB, who auth.Who, raw expconf.Raw, id *int) (workspaces.Project, error) {
	var p workspaces.Project
	var err error
	switch {
	case id != nil && *id > 0:
		p, err = workspaces.ProjectByID(ctx, db, *id)
	case raw.Workspace != "" && raw.Project != "":
		p, err = workspaces.ProjectByName(ctx, db, raw.Workspace, raw.Project)
	case raw.Workspace != "" || raw.Project != "":
		return p, fault.New(fault.Invalid, "give workspace and project together: the configuration names only one of them")
	default:
		p, err = workspaces.ProjectByID(ctx, db, workspaces.DefaultProject)
	}
	if err == nil && (p.ID != workspaces.DefaultProject || id != nil || raw.Project != "") && !auth.Sees(who, p.Object()) {
		if id != nil && *id > 0 {
			return workspaces.Project{}, workspaces.NoProject(*id)
		}
		return workspaces.Project{}, workspaces.NoWorkspace(raw.Workspace)
	}
	switch {
	case err != nil:
		return p, err
	case p.Archived:
		return p, fault.New(fault.Conflict, "project %q is archived; unarchive it first", p.Name)
	case p.WorkspaceArchived:
		return p, fault.New(fault.Conflict, "workspace %q is archived; unarchive it first", p.WorkspaceName)
	}
	return p, nil
}
