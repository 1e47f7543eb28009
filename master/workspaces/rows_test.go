package workspaces_test

import (
	"testing"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/workspaces"
)

// TestWorkspacesKeepToTheirScope tests that no list returns a row of a workspace outside of its scope, nor any row for the zero scope.
func TestWorkspacesKeepToTheirScope(t *testing.T) {
	w := rowtest.New(t)
	ctx, db := t.Context(), w.DB
	theirs := w.Int(`INSERT INTO workspaces (name, owner_id) VALUES ('theirs', 1) RETURNING id`)
	w.Exec(`INSERT INTO projects (workspace_id, name, key, owner_id) VALUES ($1, 'p', 'P', 1)`, theirs)
	w.Exec(`INSERT INTO project_visits (user_id, project_id) SELECT 1, id FROM projects`)
	w.Exec(`INSERT INTO templates (name, workspace_id, owner_id, source, config) VALUES ('ours', 1, 2, '{}', '{}'), ('theirs', $1, 2, '{}', '{}')`, theirs)
	w.Exec(`INSERT INTO pool_bindings (pool, workspace_id) VALUES ('p', 1), ('p', $1)`, theirs)
	for name, list := range map[string]func(in auth.Scope) (int, error){
		"List": func(in auth.Scope) (int, error) {
			return lenOf(workspaces.List(ctx, db, in, workspaces.Filter{}, 0, database.MaxPage))
		},
		"Count": func(in auth.Scope) (int, error) { return workspaces.Count(ctx, db, in, workspaces.Filter{}) },
		"Projects": func(in auth.Scope) (int, error) {
			return lenOf(workspaces.Projects(ctx, db, in, workspaces.ProjectFilter{}, 0, database.MaxPage))
		},
		"CountProjects": func(in auth.Scope) (int, error) {
			return workspaces.CountProjects(ctx, db, in, workspaces.ProjectFilter{})
		},
		"VisitedProjects": func(in auth.Scope) (int, error) { return lenOf(workspaces.VisitedProjects(ctx, db, in, 1, 10)) },
		"Templates": func(in auth.Scope) (int, error) {
			return lenOf(workspaces.Templates(ctx, db, in, workspaces.TemplateFilter{}, 0, database.MaxPage))
		},
		"CountTemplates": func(in auth.Scope) (int, error) {
			return workspaces.CountTemplates(ctx, db, in, workspaces.TemplateFilter{})
		},
		"OfPool": func(in auth.Scope) (int, error) { return lenOf(workspaces.OfPool(ctx, db, in, "p")) },
	} {
		rowtest.KeepsToScope(t, name, theirs, list)
	}
}

func lenOf[T any](list []T, err error) (int, error) { return len(list), err }
