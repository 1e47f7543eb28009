package store

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
)

// What projects and workspaces contain is counted for those that an answer shows. Counting reads
// every experiment in them, so whoever only needs the project itself, such as the launch of an
// experiment, does not count.

// ProjectContents counts what a project contains.
type ProjectContents struct {
	ID            int        `db:"id"`
	Experiments   int        `db:"experiments"`
	Active        int        `db:"active"`
	Trials        int        `db:"trials"`
	LastStartedAt *time.Time `db:"last_started_at"` // of its experiments
}

// ProjectContents counts what projects contain. A project without experiments is not in the answer.
func (db *DB) ProjectContents(ctx context.Context, ids []int) (map[int]ProjectContents, error) {
	list, err := database.Rows[ProjectContents](ctx, db.DB, `
		SELECT e.project_id AS id, count(*) AS experiments,
			count(*) FILTER (WHERE e.state NOT IN ('COMPLETED', 'CANCELED', 'ERROR', 'DELETING', 'DELETE_FAILED')) AS active,
			coalesce(sum(t.n), 0)::bigint AS trials, max(e.started_at) AS last_started_at
		FROM experiments e
		LEFT JOIN (SELECT experiment_id, count(*) AS n FROM trials WHERE experiment_id IN
				(SELECT id FROM experiments WHERE project_id = ANY($1::int[])) GROUP BY experiment_id) t ON t.experiment_id = e.id
		WHERE e.project_id = ANY($1::int[]) GROUP BY e.project_id`, ids)
	return database.Keyed(list, func(c ProjectContents) int { return c.ID }), err
}

// WorkspaceContents counts what a workspace contains.
type WorkspaceContents struct {
	ID          int `db:"id"`
	Projects    int `db:"projects"`
	Experiments int `db:"experiments"`
}

// WorkspaceContents counts what workspaces contain. A workspace without projects is not in the answer.
func (db *DB) WorkspaceContents(ctx context.Context, ids []int) (map[int]WorkspaceContents, error) {
	list, err := database.Rows[WorkspaceContents](ctx, db.DB, `
		SELECT p.workspace_id AS id, count(*) AS projects, sum(e.n)::bigint AS experiments
		FROM projects p CROSS JOIN LATERAL (SELECT count(*) AS n FROM experiments WHERE project_id = p.id) e
		WHERE p.workspace_id = ANY($1::int[]) GROUP BY p.workspace_id`, ids)
	return database.Keyed(list, func(c WorkspaceContents) int { return c.ID }), err
}
