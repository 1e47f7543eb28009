package importer

import (
	"context"

	"github.com/detent-ml/detent/master/database"
)

// putPlaces imports workspaces, projects, and what belongs to a workspace. The built-in workspace and its project become ours; with a prefix
// they are workspaces like others.
func (p *pass) putPlaces(ctx context.Context, tx *database.DB) error {
	err := p.put(ctx, tx,
		numbered("workspace", "old_workspaces", "workspaces", `SELECT w.id FROM workspaces w WHERE @prefix = '' AND (w.immutable AND d.immutable OR w.name = d.name)`),
		`INSERT INTO workspaces (id, name, owner_id, archived, settings, created_at) OVERRIDING SYSTEM VALUE
		SELECT n.new, @prefix || d.name, `+owner("d.user_id")+`, d.archived, jsonb_strip_nulls(jsonb_build_object(
			'default_compute_pool', nullif(d.default_compute_pool, ''), 'default_aux_pool', nullif(d.default_aux_pool, ''), 'checkpoint_storage', d.checkpoint_storage_config,
			'agent_user', CASE WHEN d.uid IS NOT NULL OR d.gid IS NOT NULL THEN jsonb_strip_nulls(jsonb_build_object('agentUid', d.uid, 'agentGid', d.gid, 'agentUser', d.user_, 'agentGroup', d.group_)) END)),
			d.created_at
		FROM old_workspaces d JOIN import_numbers n ON n.import_id = @import AND n.kind = 'workspace' AND n.old = d.id
		ON CONFLICT (id) DO UPDATE SET name = CASE WHEN workspaces.immutable THEN workspaces.name ELSE excluded.name END, archived = excluded.archived, settings = excluded.settings
		WHERE @prefix = ''`,
		`INSERT INTO workspace_pins (user_id, workspace_id, pinned_at) SELECT `+number("user", "d.user_id")+`, `+number("workspace", "d.workspace_id")+`, d.created_at FROM old_workspace_pins d
		ON CONFLICT DO NOTHING`,
		numbered("project", "old_projects", "projects", `SELECT x.id FROM projects x WHERE @prefix = '' AND (x.immutable AND d.immutable OR
			x.workspace_id = `+number("workspace", "d.workspace_id")+` AND x.name = d.name)`),
		`INSERT INTO projects (id, workspace_id, name, key, description, owner_id, archived, notes, created_at) OVERRIDING SYSTEM VALUE
		SELECT n.new, coalesce(`+number("workspace", "d.workspace_id")+`, 1), d.name, CASE WHEN EXISTS (SELECT FROM projects x WHERE x.key = d.key AND x.id <> n.new) THEN upper(left(md5(@prefix || d.key), 5)) ELSE d.key END,
			coalesce(d.description, ''), `+owner("d.user_id")+`, d.archived, coalesce(d.notes, '[]'), d.created_at
		FROM old_projects d JOIN import_numbers n ON n.import_id = @import AND n.kind = 'project' AND n.old = d.id
		ON CONFLICT (id) DO UPDATE SET workspace_id = excluded.workspace_id, name = excluded.name, key = excluded.key, description = excluded.description, archived = excluded.archived, notes = excluded.notes
		WHERE @prefix = ''`,
		`INSERT INTO templates (name, workspace_id, owner_id, source, config)
		SELECT @prefix || d.name, `+number("workspace", "d.workspace_id")+`, `+owner("w.user_id")+`, jsonb_pretty(d.config), d.config
		FROM old_templates d JOIN old_workspaces w ON w.id = d.workspace_id
		ON CONFLICT (name) DO UPDATE SET source = excluded.source, config = excluded.config WHERE templates.config IS DISTINCT FROM excluded.config AND @prefix = ''`,
		`INSERT INTO pool_bindings (pool, workspace_id) SELECT d.pool_name, `+number("workspace", "d.workspace_id")+` FROM old_rp_workspace_bindings d ON CONFLICT DO NOTHING`,
		// A policy of the cluster would be one for those who were here before, too.
		`INSERT INTO config_policies (workspace_id, workload, source, set_by, set_at)
		SELECT `+number("workspace", "d.workspace_id")+`, d.workload_type, jsonb_pretty(jsonb_strip_nulls(jsonb_build_object('invariant_config', d.invariant_config, 'constraints', d.constraints))),
			`+number("user", "d.last_updated_by")+`, d.last_updated_time
		FROM old_task_config_policies d WHERE d.workspace_id IS NOT NULL OR @prefix = ''
		ON CONFLICT (coalesce(workspace_id, 0), workload) DO UPDATE SET source = excluded.source, set_by = excluded.set_by, set_at = excluded.set_at`)
	if err != nil {
		return err
	}
	return p.putRoles(ctx, tx)
}
