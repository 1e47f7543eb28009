package importer

import (
	"context"

	"github.com/detent-ml/detent/master/database"
)

// putCheckpoints imports the checkpoints of trials, which stay where they are.
func (p *pass) putCheckpoints(ctx context.Context, tx *database.DB) error {
	return p.put(ctx, tx, `
		INSERT INTO storage_backends (config, owner_id) SELECT DISTINCT ON (md5(d.storage::text)) d.storage, e.owner_id
		FROM old_checkpoints d JOIN old_trials t ON t.id = d.run_id JOIN experiments e ON e.id = t.experiment
		WHERE d.storage IS NOT NULL ORDER BY md5(d.storage::text) ON CONFLICT (digest) DO NOTHING`,
		`INSERT INTO checkpoints (uuid, task_id, trial_id, run_id, steps, state, reported_at, resources, metadata, size, storage_id)
		SELECT d.uuid, t.task_id, t.new, coalesce((SELECT max(n.run_id) FROM old_attempts n WHERE n.allocation_id = d.allocation_id), k.run_id),
			CASE WHEN jsonb_typeof(d.metadata->'steps_completed') = 'number' THEN least(greatest((d.metadata->>'steps_completed')::numeric, 0), 2147483647)::int ELSE 0 END,
			d.state, d.report_time, CASE jsonb_typeof(d.resources) WHEN 'object' THEN d.resources ELSE '{}' END, CASE jsonb_typeof(d.metadata) WHEN 'object' THEN d.metadata ELSE '{}' END, d.size,
			(SELECT b.id FROM storage_backends b WHERE b.digest = md5(d.storage::text))
		FROM old_checkpoints d JOIN old_trials t ON t.id = d.run_id JOIN trials k ON k.id = t.new
		ON CONFLICT (uuid) DO UPDATE SET state = excluded.state, resources = excluded.resources, metadata = excluded.metadata, size = excluded.size
		WHERE checkpoints.trial_id = excluded.trial_id AND checkpoints.state NOT IN ('DELETED', 'PARTIALLY_DELETED') AND
			(checkpoints.state, checkpoints.resources, checkpoints.metadata, checkpoints.size) IS DISTINCT FROM (excluded.state, excluded.resources, excluded.metadata, excluded.size)`,
		`INSERT INTO trial_sources (trial_id, checkpoint, kind)
		SELECT d.trial_id + @shift, d.checkpoint_uuid, replace(d.trial_source_info_type, 'TRIAL_SOURCE_INFO_TYPE_', '')
		FROM old_trial_source_infos d WHERE EXISTS (SELECT FROM trials t WHERE t.id = d.trial_id + @shift) AND EXISTS (SELECT FROM checkpoints k WHERE k.uuid = d.checkpoint_uuid)
		ON CONFLICT DO NOTHING`)
}

// putModels imports the registry. Versions whose checkpoint is not here are left out.
func (p *pass) putModels(ctx context.Context, tx *database.DB) error {
	return p.put(ctx, tx, freeNames("model", "models", "name", "old_models", "@prefix || d.name"), `
		INSERT INTO models (id, name, workspace_id, owner_id, description, notes, labels, metadata, archived, newest, created_at, modified_at) OVERRIDING SYSTEM VALUE
		SELECT d.id + @shift, @prefix || d.name, `+number("workspace", "d.workspace_id")+`, `+number("user", "d.user_id")+`, coalesce(d.description, ''), coalesce(d.notes, ''), array_remove(coalesce(d.labels, '{}'), NULL),
			coalesce(d.metadata, '{}'), d.archived, coalesce((SELECT max(v.version) FROM old_model_versions v WHERE v.model_id = d.id), 0), d.creation_time, coalesce(d.last_updated_time, d.creation_time)
		FROM old_models d
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, workspace_id = excluded.workspace_id, description = excluded.description, notes = excluded.notes, labels = excluded.labels, metadata = excluded.metadata,
			archived = excluded.archived, newest = greatest(models.newest, excluded.newest), modified_at = excluded.modified_at`,
		`INSERT INTO model_versions (id, model_id, version, checkpoint, owner_id, name, comment, notes, labels, metadata, created_at, modified_at) OVERRIDING SYSTEM VALUE
		SELECT d.id + @shift, d.model_id + @shift, d.version, d.checkpoint_uuid, `+owner("coalesce(d.user_id, m.user_id)")+`, coalesce(d.name, ''), coalesce(d.comment, ''), coalesce(d.notes, ''),
			array_remove(coalesce(d.labels, '{}'), NULL), coalesce(d.metadata, '{}'), d.creation_time, coalesce(d.last_updated_time, d.creation_time)
		FROM old_model_versions d JOIN old_models m ON m.id = d.model_id WHERE EXISTS (SELECT FROM checkpoints k WHERE k.uuid = d.checkpoint_uuid)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, comment = excluded.comment, notes = excluded.notes, labels = excluded.labels, metadata = excluded.metadata, modified_at = excluded.modified_at`,
		`UPDATE trial_sources s SET model_id = d.model_id + @shift, version = d.model_version FROM old_trial_source_infos d
		WHERE s.trial_id = d.trial_id + @shift AND s.checkpoint = d.checkpoint_uuid AND s.model_id IS NULL
			AND EXISTS (SELECT FROM model_versions v WHERE v.model_id = d.model_id + @shift AND v.version = d.model_version)`)
}
