package rows

import (
	"context"

	"github.com/detent-ml/detent/master/database"
)

// The names by which pools share their slots. They are not in the rows of experiments: a
// project can move to another workspace, and users can be renamed. So they are read in every
// load, for the projects and owners of live experiments only.
const (
	liveWorkspaces = `
	SELECT p.id, w.name FROM projects p JOIN workspaces w ON w.id = p.workspace_id WHERE p.id = ANY($1)`
	liveOwners = `SELECT id, username AS name FROM users WHERE id = ANY($1)`
)

func loadNames(ctx context.Context, tx *database.DB, live *Live) error {
	projects, owners := map[int]bool{}, map[int]bool{}
	for i := range live.Experiments {
		projects[live.Experiments[i].ProjectID] = true
		owners[live.Experiments[i].OwnerID] = true
	}
	var err error
	if live.Workspaces, err = namesOf(ctx, tx, liveWorkspaces, projects); err != nil {
		return err
	}
	live.Owners, err = namesOf(ctx, tx, liveOwners, owners)
	return err
}

// namesOf reads names by ids.
func namesOf(ctx context.Context, tx *database.DB, sql string, ids map[int]bool) (map[int]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return database.Map[int, string](ctx, tx, sql, sortedKeys(ids))
}
