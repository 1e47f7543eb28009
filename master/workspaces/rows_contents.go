package workspaces

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
)

// What projects and workspaces contain is counted for those that an answer shows. Counting reads
// every experiment in them, so whoever only needs the project itself, such as the launch of an
// experiment, does not count.

// projectContents counts what a project contains.
type projectContents struct {
	ID            int        `db:"id"`
	Experiments   int        `db:"experiments"`
	Active        int        `db:"active"`
	Trials        int        `db:"trials"`
	LastStartedAt *time.Time `db:"last_started_at"` // of its experiments
}

// contentsOfProjects counts what projects contain. A project without experiments is not in the answer.
func contentsOfProjects(ctx context.Context, db *database.DB, ids []int) (map[int]projectContents, error) {
	list, err := database.Rows[projectContents](ctx, db, `
		SELECT e.project_id AS id, count(*) AS experiments,
			count(*) FILTER (WHERE e.state NOT IN ('COMPLETED', 'CANCELED', 'ERROR', 'DELETING', 'DELETE_FAILED')) AS active,
			coalesce(sum(t.n), 0)::bigint AS trials, max(e.started_at) AS last_started_at
		FROM experiments e
		LEFT JOIN (SELECT experiment_id, count(*) AS n FROM trials WHERE experiment_id IN
				(SELECT id FROM experiments WHERE project_id = ANY($1::int[])) GROUP BY experiment_id) t ON t.experiment_id = e.id
		WHERE e.project_id = ANY($1::int[]) GROUP BY e.project_id`, ids)
	return each.Keyed(list, func(c projectContents) int { return c.ID }), err
}

// contents counts what a workspace contains.
type contents struct {
	ID          int `db:"id"`
	Projects    int `db:"projects"`
	Experiments int `db:"experiments"`
}

// contentsOf counts what workspaces contain. A workspace without projects is not in the answer.
func contentsOf(ctx context.Context, db *database.DB, ids []int) (map[int]contents, error) {
	list, err := database.Rows[contents](ctx, db, `
		SELECT p.workspace_id AS id, count(*) AS projects, sum(e.n)::bigint AS experiments
		FROM projects p CROSS JOIN LATERAL (SELECT count(*) AS n FROM experiments WHERE project_id = p.id) e
		WHERE p.workspace_id = ANY($1::int[]) GROUP BY p.workspace_id`, ids)
	return each.Keyed(list, func(c contents) int { return c.ID }), err
}
