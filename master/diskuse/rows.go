package diskuse

import (
	"context"
	"fmt"
	"strings"

	"github.com/detent-ml/detent/master/database"
)

// Use is what a user stores, in bytes as PostgreSQL stores it; indexes count as estimates.
type Use struct {
	UserID   int    `db:"user_id"`
	Username string `db:"username"`
	Code     int64  `db:"code"`    // the same code counts once
	Logs     int64  `db:"logs"`    // lines that are not deleted
	Metrics  int64  `db:"metrics"` // with their summaries
	Records  int64  `db:"records"` // experiments, trials, tasks, checkpoints, models, templates, projects and workspaces, with their configurations and metadata
}

// All is the sum.
func (s Use) All() int64 { return s.Code + s.Logs + s.Metrics + s.Records }

// freshCode is for how long code that no experiment or task has counts for the user who sent it: contexts.Drop removes it then.
const freshCode = `interval '2 hours'`

// storedSQL reads what users store; of is the condition on a column with an owner, with %s for the column.
func storedSQL(of string) string {
	owned := func(sql, column string) string { return strings.ReplaceAll(sql, "OWNED", fmt.Sprintf(of, column)) }
	return `WITH used AS (
		SELECT held.owner_id, sum(c.size) AS code, 0 AS logs, 0 AS metrics, 0 AS records FROM (` +
		owned(`SELECT e.owner_id, e.context_hash AS hash FROM experiments e WHERE OWNED UNION `, "e.owner_id") +
		owned(`SELECT k.owner_id, k.context_hash FROM tasks k WHERE OWNED UNION `, "k.owner_id") +
		owned(`SELECT x.owner_id, x.hash FROM contexts x WHERE OWNED AND x.created_at > now() - `+freshCode, "x.owner_id") + `) held
			JOIN contexts c ON c.hash = held.hash GROUP BY 1
		UNION ALL ` + owned(`SELECT k.owner_id, 0, sum(l.bytes), 0, 0 FROM tasks k JOIN log_tasks l ON l.task_id = k.id WHERE OWNED GROUP BY 1
		UNION ALL SELECT k.owner_id, 0, 0, 0, sum(500 + pg_column_size(k.config) + pg_column_size(k.submitted) + pg_column_size(k.name)) FROM tasks k WHERE OWNED GROUP BY 1
		UNION ALL SELECT k.owner_id, 0, 0, 0, sum(200 + pg_column_size(c.resources) + pg_column_size(c.metadata) + c.logged_names + 60 * c.logged_files)
			FROM tasks k JOIN checkpoints c ON c.task_id = k.id WHERE OWNED GROUP BY 1`, "k.owner_id") + `
		UNION ALL ` + owned(`SELECT e.owner_id, 0, 0, coalesce(sum(s.bytes + pg_column_size(s.summary)), 0),
				sum(500 + pg_column_size(t.hparams) + coalesce(pg_column_size(t.metadata), 0))
			FROM experiments e JOIN trials t ON t.experiment_id = e.id LEFT JOIN trial_summaries s ON s.trial_id = t.id WHERE OWNED GROUP BY 1
		UNION ALL SELECT e.owner_id, 0, 0, 0, sum(1000 + pg_column_size(e.config) + pg_column_size(e.original_config) + pg_column_size(e.template_source)
			+ pg_column_size(e.notes) + pg_column_size(e.description) + pg_column_size(e.name) + pg_column_size(e.labels)) FROM experiments e WHERE OWNED GROUP BY 1
		UNION ALL SELECT e.owner_id, 0, 0, 0, sum(200 + pg_column_size(m.name) + pg_column_size(m.params) + pg_column_size(m.tags) + m.values_bytes)
			FROM experiments e JOIN trials t ON t.experiment_id = e.id
			JOIN mlflow_models m ON m.trial_id = t.id WHERE OWNED GROUP BY 1`, "e.owner_id") + `
		UNION ALL ` + owned(`SELECT m.owner_id, 0, 0, 0, sum(200 + pg_column_size(m.notes) + pg_column_size(m.metadata) + pg_column_size(m.description)
			+ pg_column_size(m.labels)) FROM models m WHERE OWNED GROUP BY 1
		UNION ALL SELECT m.owner_id, 0, 0, 0, sum(200 + pg_column_size(m.notes) + pg_column_size(m.metadata) + pg_column_size(m.comment)
			+ pg_column_size(m.labels)) FROM model_versions m WHERE OWNED GROUP BY 1
		UNION ALL SELECT m.owner_id, 0, 0, 0, sum(200 + pg_column_size(m.source) + pg_column_size(m.config)) FROM templates m WHERE OWNED GROUP BY 1
		UNION ALL SELECT m.owner_id, 0, 0, 0, sum(200 + pg_column_size(m.config)) FROM storage_backends m WHERE OWNED GROUP BY 1`, "m.owner_id") + `
		UNION ALL ` + owned(`SELECT p.owner_id, 0, 0, 0, sum(200 + pg_column_size(p.notes) + pg_column_size(p.description)) FROM projects p WHERE OWNED GROUP BY 1
		UNION ALL SELECT p.owner_id, 0, 0, 0, sum(200 + pg_column_size(p.settings)) FROM workspaces p WHERE OWNED GROUP BY 1`, "p.owner_id") + `)
	SELECT u.id AS user_id, u.username, coalesce(sum(used.code), 0)::bigint AS code, coalesce(sum(used.logs), 0)::bigint AS logs,
		coalesce(sum(used.metrics), 0)::bigint AS metrics, coalesce(sum(used.records), 0)::bigint AS records
	FROM users u LEFT JOIN used ON used.owner_id = u.id ` + owned(`WHERE OWNED`, "u.id") + ` GROUP BY u.id`
}

var storedByOne, storedByAll = storedSQL(`%s = $1`), storedSQL(`%s IS NOT NULL`) +
	` HAVING count(used.owner_id) > 0 ORDER BY sum(used.code) + sum(used.logs) + sum(used.metrics) + sum(used.records) DESC, u.id LIMIT $1`

// Of adds up what a user stores.
func Of(ctx context.Context, db *database.DB, user int) (Use, error) {
	return database.Row[Use](ctx, db, fmt.Sprintf("user %d", user), storedByOne, user)
}

// Most lists the users who store the most, the first one the most.
func Most(ctx context.Context, db *database.DB, limit int) ([]Use, error) {
	return database.Rows[Use](ctx, db, storedByAll, limit)
}
