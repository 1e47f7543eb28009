package importer

import (
	"context"

	"github.com/detent-ml/detent/master/database"
)

// pausable is true for an old experiment d that has not ended and has one trial: it is paused here, and whoever activates it continues from its newest
// checkpoint. A search that has not ended is canceled, because only Determined can read the state of its searcher.
const pausable = `(d.state IN ` + liveStates + ` AND d.state NOT LIKE 'STOPPING%' AND NOT d.unmanaged AND d.config #>> '{searcher,name}' = 'single' AND
	(SELECT count(*) FROM old_runs r WHERE r.experiment_id = d.id) = 1)`

// stateHere is SQL for the state of an old experiment or run d that does not pause.
const stateHere = `CASE WHEN d.state IN ('COMPLETED', 'STOPPING_COMPLETED') THEN 'COMPLETED' WHEN d.state IN ('ERROR', 'STOPPING_ERROR') THEN 'ERROR' ELSE 'CANCELED' END`

// ours is true for an experiment e that was activated, continued or deleted here: an import changes nothing of it any more. Imported attempts were never submitted.
const ours = `(e.continues > 0 OR e.desired = 'deleted' OR e.delete_requests > 0 OR e.desired = 'active' AND e.ended_at IS NULL OR
	EXISTS (SELECT FROM tasks k JOIN allocations a ON a.task_id = k.id WHERE k.experiment_id = e.id AND k.type = 'TRIAL' AND a.submitted_at IS NOT NULL))`

// putExperiments imports experiments.
func (p *pass) putExperiments(ctx context.Context, tx *database.DB) error {
	if err := p.translateConfigs(ctx, tx); err != nil {
		return err
	}
	return p.put(ctx, tx, `
		INSERT INTO experiments AS e (id, job_id, owner_id, project_id, external_id, unmanaged, config, original_config, context_hash, seed, name, description, labels, notes, archived, desired, pool,
			slots_per_trial, max_slots, weight, priority, state, progress, started_at, ended_at, best_trial_id, swept_at) OVERRIDING SYSTEM VALUE
		SELECT d.id + @shift, CASE WHEN d.job_id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN d.job_id::uuid ELSE gen_random_uuid() END, `+owner("d.owner_id")+`, `+number("project", "d.project_id")+`,
			CASE WHEN NOT EXISTS (SELECT FROM experiments x WHERE x.external_id = d.external_experiment_id AND x.id <> d.id + @shift) THEN d.external_experiment_id END, d.unmanaged, c.config, coalesce(d.original_config, ''), d.code, coalesce((c.config #>> '{reproducibility,experiment_seed}')::bigint, 0),
			left(coalesce(c.config->>'name', 'Experiment ' || d.id), 65536), coalesce(c.config->>'description', ''),
			CASE jsonb_typeof(c.config->'labels') WHEN 'array' THEN ARRAY(SELECT DISTINCT jsonb_array_elements_text(c.config->'labels')) ELSE '{}' END, d.notes, d.archived,
			CASE WHEN `+pausable+` THEN 'paused' WHEN `+stateHere+` = 'CANCELED' THEN 'canceled' ELSE 'active' END, coalesce(nullif(c.config #>> '{resources,resource_pool}', ''), 'default'),
			greatest(0, coalesce((c.config #>> '{resources,slots_per_trial}')::int, 1)), (c.config #>> '{resources,max_slots}')::int,
			CASE WHEN (c.config #>> '{resources,weight}')::float8 > 0 THEN (c.config #>> '{resources,weight}')::float8 ELSE 1 END,
			least(99, greatest(1, coalesce((c.config #>> '{resources,priority}')::int, 42))), CASE WHEN `+pausable+` THEN 'PAUSED' ELSE `+stateHere+` END, d.progress, d.start_time,
			CASE WHEN NOT `+pausable+` THEN coalesce(d.end_time, greatest(d.start_time, now())) END,
			(SELECT r.id + @shift FROM old_runs r WHERE r.id = d.best_trial_id AND EXISTS (SELECT FROM old_run_tasks t WHERE t.run_id = r.id)), now()
		FROM old_experiments d JOIN old_configs c ON c.id = d.id
		WHERE `+number("project", "d.project_id")+` IS NOT NULL
		ON CONFLICT (id) DO UPDATE SET owner_id = excluded.owner_id, project_id = excluded.project_id, config = excluded.config, context_hash = excluded.context_hash, name = excluded.name,
			description = excluded.description, labels = excluded.labels, notes = excluded.notes, archived = excluded.archived, desired = excluded.desired, state = excluded.state, progress = excluded.progress,
			ended_at = excluded.ended_at, best_trial_id = excluded.best_trial_id, swept_at = excluded.swept_at
		WHERE NOT `+ours+` AND (e.owner_id, e.project_id, e.config, e.context_hash, e.name, e.description, e.labels, e.notes, e.archived, e.desired, e.state, e.progress, e.best_trial_id) IS DISTINCT FROM
			(excluded.owner_id, excluded.project_id, excluded.config, excluded.context_hash, excluded.name, excluded.description, excluded.labels, excluded.notes, excluded.archived, excluded.desired, excluded.state, excluded.progress, excluded.best_trial_id)`,
		`UPDATE experiments e SET parent_id = d.parent_id + @shift FROM old_experiments d WHERE e.id = d.id + @shift AND d.parent_id IS NOT NULL AND e.parent_id IS NULL
			AND EXISTS (SELECT FROM experiments x WHERE x.id = d.parent_id + @shift)`,
		`INSERT INTO search_counters (experiment_id) SELECT d.id + @shift FROM old_experiments d JOIN experiments e ON e.id = d.id + @shift ON CONFLICT DO NOTHING`)
}

// putTrials imports trials, each with its first task; a task that continued a trial is a part of that one. It sets the summaries of their
// reports, which Determined keeps in the same form. A trial that has none becomes stale, so that a master makes one of its reports.
func (p *pass) putTrials(ctx context.Context, tx *database.DB) error {
	return p.put(ctx, tx, `
		CREATE TEMP TABLE old_trials ON COMMIT DROP AS
		SELECT d.*, d.id + @shift AS new, d.experiment_id + @shift AS experiment, f.task_id, i.mark IS DISTINCT FROM d.mark AS changed, row_number() OVER (PARTITION BY d.experiment_id ORDER BY d.id) - 1 AS number
		FROM old_runs d JOIN experiments e ON e.id = d.experiment_id + @shift AND NOT `+ours+`
			JOIN LATERAL (SELECT t.task_id FROM old_run_tasks t WHERE t.run_id = d.id ORDER BY t.start_time, t.task_id LIMIT 1) f ON true
			LEFT JOIN import_trials i ON i.trial_id = d.id + @shift`,
		`CREATE INDEX ON old_trials (id)`, `ANALYZE old_trials`,
		numberAttempts, `CREATE INDEX ON old_attempts (trial_id)`, `CREATE INDEX ON old_attempts (task_id)`, `CREATE INDEX ON old_attempts (allocation_id)`, `ANALYZE old_attempts`,
		`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, experiment_id, name, context_hash, created_at, pool, slots, priority, ended_at, exit_status)
		SELECT d.task_id, 'TRIAL', e.job_id, e.owner_id, p.workspace_id, e.id, format('Trial %s of experiment %s', d.number + 1, e.id), e.context_hash, d.start_time, e.pool, e.slots_per_trial, e.priority,
			CASE WHEN e.state <> 'PAUSED' THEN coalesce(d.end_time, e.ended_at) END, ''
		FROM old_trials d JOIN experiments e ON e.id = d.experiment JOIN projects p ON p.id = e.project_id WHERE d.changed
		ON CONFLICT (id) DO UPDATE SET ended_at = excluded.ended_at`,
		`UPDATE tasks k SET workspace_id = p.workspace_id, owner_id = e.owner_id FROM old_trials d JOIN experiments e ON e.id = d.experiment JOIN projects p ON p.id = e.project_id
		WHERE k.id = d.task_id AND (k.workspace_id, k.owner_id) IS DISTINCT FROM (p.workspace_id, e.owner_id)`,
		`INSERT INTO trials (id, experiment_id, number, task_id, hparams, seed, warm_start, external_id, archived, log_retention_days, state, restarts, run_id, started_at, ended_at, runner_state, metadata,
			log_policy_matched, local_id) OVERRIDING SYSTEM VALUE
		SELECT d.new, d.experiment, d.number, d.task_id, coalesce(d.hparams, '{}'), coalesce(d.seed, 0), d.warm_start, d.external_run_id, d.archived, CASE WHEN d.log_retention_days < -1 THEN -1 ELSE d.log_retention_days END, CASE e.state WHEN 'PAUSED' THEN 'PAUSED' ELSE `+stateHere+` END, d.restarts,
			greatest(d.restart_id, (SELECT max(a.run_id) FROM old_attempts a WHERE a.trial_id = d.new)), d.start_time, CASE WHEN e.state <> 'PAUSED' THEN coalesce(d.end_time, e.ended_at) END,
			coalesce(d.runner_state, ''), d.metadata, d.log_policy_matched, d.local_name
		FROM old_trials d JOIN experiments e ON e.id = d.experiment WHERE d.changed
		ON CONFLICT (id) DO UPDATE SET archived = excluded.archived, state = excluded.state, restarts = excluded.restarts, run_id = excluded.run_id, ended_at = excluded.ended_at,
			runner_state = excluded.runner_state, metadata = excluded.metadata, log_policy_matched = excluded.log_policy_matched, local_id = excluded.local_id`,
		`INSERT INTO trial_summaries AS s (trial_id, summary, total_batches, latest_run, latest_steps, best_run, best_steps, searcher_value, stale)
		SELECT d.new, coalesce(d.summary_metrics, '{}'), coalesce(d.total_batches, 0), d.latest_run, d.latest_steps, d.best_run, d.best_steps, d.searcher_metric_value, coalesce(d.summary_metrics, '{}') = '{}'
		FROM old_trials d WHERE d.changed
		ON CONFLICT (trial_id) DO UPDATE SET summary = excluded.summary, total_batches = excluded.total_batches, latest_run = excluded.latest_run, latest_steps = excluded.latest_steps,
			best_run = excluded.best_run, best_steps = excluded.best_steps, searcher_value = excluded.searcher_value, stale = excluded.stale, rebuilt_xid = NULL, rebuilt_id = NULL, version = s.version + 1`,
		// An experiment's best value is that of its best trial.
		`UPDATE experiments e SET best_metric = s.searcher_value FROM trial_summaries s, old_experiments d
		WHERE e.id = d.id + @shift AND s.trial_id = e.best_trial_id AND e.best_metric IS DISTINCT FROM s.searcher_value`,
		`INSERT INTO task_parts (task_id, n, first_run, first_line, began_at, ended_before, exit_before)
		SELECT x.first, x.n, x.run, 1, x.start_time, x.before, ''
		FROM (SELECT o.task_id AS first, t.start_time, row_number() OVER w - 1 AS n, coalesce(lag(t.end_time) OVER w, t.start_time) AS before,
				coalesce((SELECT min(a.run_id) FROM old_attempts a WHERE a.task_id = t.task_id), o.restart_id) AS run
			FROM old_run_tasks t JOIN old_trials o ON o.id = t.run_id WINDOW w AS (PARTITION BY t.run_id ORDER BY t.start_time, t.task_id)) x
		WHERE x.n > 0 ON CONFLICT DO NOTHING`)
}

// putEarlierNames imports the names that runs had in other projects, or in theirs before its key changed.
func (p *pass) putEarlierNames(ctx context.Context, tx *database.DB) error {
	return p.put(ctx, tx, `INSERT INTO earlier_names (name, trial_id) SELECT d.name, t.new FROM old_earlier_names d JOIN old_trials t ON t.id = d.run_id JOIN trials x ON x.id = t.new
		WHERE t.changed AND d.name IS DISTINCT FROM x.local_id ON CONFLICT DO NOTHING`)
}
