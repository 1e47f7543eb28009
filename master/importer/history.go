package importer

import (
	"context"

	"github.com/detent-ml/detent/master/database"
)

// putHistory imports the attempts of trials, and for every task that held slots who used how many of them.
func (p *pass) putHistory(ctx context.Context, tx *database.DB) error {
	return p.put(ctx, tx, `
		INSERT INTO allocations (id, task_id, run_id, pool, slots, priority, queued_at, created_at, state, assigned_at, started_at, ended_at, outcome, exit_code, exit_reason)
		SELECT d.allocation_id, d.first, d.run_id, d.resource_pool, d.slots, 42, d.began, d.began, 'TERMINATED', d.start_time, d.start_time, d.ended,
			CASE WHEN coalesce(d.status_code, 0) <> 0 OR coalesce(d.exit_error, '') <> '' THEN 'failed' WHEN d.end_time IS NULL THEN 'killed' ELSE 'completed' END,
			d.status_code, left(coalesce(d.exit_reason, d.exit_error, ''), 4096)
		FROM old_attempts d ON CONFLICT (id) DO UPDATE SET started_at = excluded.started_at, ended_at = excluded.ended_at, outcome = excluded.outcome, exit_code = excluded.exit_code, exit_reason = excluded.exit_reason
			WHERE allocations.submitted_at IS NULL AND (allocations.ended_at, allocations.outcome) IS DISTINCT FROM (excluded.ended_at, excluded.outcome)`,
		`INSERT INTO usage (allocation_id, task_type, owner_id, username, workspace_id, workspace, project, project_id, experiment_id, labels, pool, slots, queued_at, started_at, ended_at)
		SELECT d.allocation_id, d.task_type, u.id, u.username, w.id, w.name, coalesce(p.name, ''), p.id, e.id, coalesce(e.labels[:64], '{}'), d.resource_pool, d.slots, d.start_time, d.start_time,
			greatest(d.start_time, coalesce(d.end_time, now()))
		FROM old_allocations d LEFT JOIN old_run_tasks r ON r.task_id = d.task_id LEFT JOIN old_runs o ON o.id = r.run_id
			LEFT JOIN experiments e ON e.id = coalesce(o.experiment_id, d.experiment_id) + @shift LEFT JOIN projects p ON p.id = e.project_id
			JOIN users u ON u.id = coalesce(e.owner_id, `+number("user", "d.owner_id")+`)
			JOIN workspaces w ON w.id = coalesce(p.workspace_id, `+number("workspace", "d.workspace_id")+`, `+number("workspace", "1")+`)
		WHERE d.start_time IS NOT NULL
		ON CONFLICT (allocation_id) DO UPDATE SET ended_at = excluded.ended_at WHERE usage.ended_at IS DISTINCT FROM excluded.ended_at`)
}

// numberAttempts makes old_attempts: the attempts of trials. The number after the last dot of an attempt is that of the run, which its reports
// have too. Where two attempts of a trial have the same one, they are counted in their order.
const numberAttempts = `
	CREATE TEMP TABLE old_attempts ON COMMIT DROP AS
	SELECT x.*, CASE WHEN bool_and(x.same = 1 AND x.suffix IS NOT NULL) OVER (PARTITION BY x.trial_id) THEN x.suffix
		ELSE row_number() OVER (PARTITION BY x.trial_id ORDER BY x.began, x.suffix, x.allocation_id) END AS run_id
	FROM (SELECT a.*, t.task_id AS first, t.new AS trial_id, s.suffix, count(*) OVER (PARTITION BY t.id, s.suffix) AS same, coalesce(a.start_time, r.start_time) AS began,
			greatest(coalesce(a.start_time, r.start_time), coalesce(a.end_time, t.end_time, now())) AS ended
		FROM old_allocations a JOIN old_run_tasks r ON r.task_id = a.task_id JOIN old_trials t ON t.id = r.run_id
			CROSS JOIN LATERAL (SELECT substring(a.allocation_id FROM '\.(\d{1,9})$')::int AS suffix) s) x`
