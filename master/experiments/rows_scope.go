package experiments

import (
	"cmp"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
)

// InWorkspaces limits a list to a scope; workspace is the column with a row's workspace.
func InWorkspaces(c *database.Conditions, s auth.Scope, workspace string) {
	c.When(!s.All, workspace+" = ANY(@scope::int[])", "scope", s.Only())
}

// inProjects is InWorkspaces for rows that have a project but no workspace.
func inProjects(c *database.Conditions, s auth.Scope, project string) {
	c.When(!s.All, project+" IN (SELECT id FROM projects WHERE workspace_id = ANY(@scope::int[]))", "scope", s.Only())
}

// CheckPatterns is CheckPattern for a name and a description.
func CheckPatterns(name, description string) error {
	return cmp.Or(database.CheckPattern("name", name), database.CheckPattern("description", description))
}
