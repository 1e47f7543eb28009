package experiments

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
)

// A Branch is an experiment that shares the past of another one up to an event of its search.
type Branch struct {
	ID    int   `db:"id"`
	Event int64 `db:"event"`
}

// maxBranches is how many branches of an experiment are shown, the newest.
const maxBranches = 100

// BranchesOf lists the newest branches of an experiment that are in the scope.
func BranchesOf(ctx context.Context, db *database.DB, in auth.Scope, experiment int) ([]Branch, error) {
	return database.Rows[Branch](ctx, db, `SELECT e.id, e.branch_event AS event FROM experiments e JOIN projects p ON p.id = e.project_id
		WHERE e.parent_id = $1 AND e.branch_event IS NOT NULL AND ($2::int[] IS NULL OR p.workspace_id = ANY($2)) ORDER BY e.id DESC LIMIT $3`, experiment, in.Only(), maxBranches)
}
