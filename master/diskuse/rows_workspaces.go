package diskuse

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
)

// WorkspaceUse is how much disk the things of a workspace use.
type WorkspaceUse struct {
	WorkspaceID     int    `db:"id"`
	Workspace       string `db:"name"`
	Checkpoints     int    `db:"checkpoints"`
	CheckpointBytes int64  `db:"checkpoint_bytes"`
	LogBytes        int64  `db:"log_bytes"`
	CodeBytes       int64  `db:"code_bytes"`
	MetricBytes     int64  `db:"metric_bytes"`
}

// OfWorkspaces adds up what the workspaces in a scope use, by their names.
func OfWorkspaces(ctx context.Context, db *database.DB, in auth.Scope) ([]WorkspaceUse, error) {
	return database.Rows[WorkspaceUse](ctx, db, `
		WITH used AS (
			SELECT k.workspace_id, count(*) AS checkpoints, sum(c.size) AS checkpoint_bytes, 0 AS log_bytes, 0 AS code_bytes, 0 AS metric_bytes
			FROM checkpoints c JOIN tasks k ON k.id = c.task_id
			WHERE c.state IN ('COMPLETED', 'PARTIALLY_DELETED') AND ($1::int[] IS NULL OR k.workspace_id = ANY($1)) GROUP BY 1
			UNION ALL
			SELECT k.workspace_id, 0, 0, sum(l.bytes), 0, 0 FROM log_tasks l JOIN tasks k ON k.id = l.task_id
			WHERE $1::int[] IS NULL OR k.workspace_id = ANY($1) GROUP BY 1
			UNION ALL
			SELECT p.workspace_id, 0, 0, 0, 0, sum(s.bytes + pg_column_size(s.summary))
			FROM trial_summaries s JOIN trials t ON t.id = s.trial_id JOIN experiments e ON e.id = t.experiment_id JOIN projects p ON p.id = e.project_id
			WHERE $1::int[] IS NULL OR p.workspace_id = ANY($1) GROUP BY 1
			UNION ALL
			SELECT held.workspace_id, 0, 0, 0, sum(c.size), 0
			FROM (SELECT p.workspace_id, e.context_hash FROM experiments e JOIN projects p ON p.id = e.project_id
				UNION SELECT workspace_id, context_hash FROM tasks) held JOIN contexts c ON c.hash = held.context_hash
			WHERE $1::int[] IS NULL OR held.workspace_id = ANY($1) GROUP BY 1)
		SELECT w.id, w.name, coalesce(sum(u.checkpoints), 0)::int AS checkpoints, coalesce(sum(u.checkpoint_bytes), 0)::bigint AS checkpoint_bytes,
			coalesce(sum(u.log_bytes), 0)::bigint AS log_bytes, coalesce(sum(u.code_bytes), 0)::bigint AS code_bytes,
			coalesce(sum(u.metric_bytes), 0)::bigint AS metric_bytes
		FROM workspaces w LEFT JOIN used u ON u.workspace_id = w.id WHERE $1::int[] IS NULL OR w.id = ANY($1)
		GROUP BY w.id ORDER BY w.name, w.id`, in.Only())
}
