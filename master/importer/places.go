package importer

import (
	"cmp"
	"context"
	"fmt"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/workspaces"
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
		`INSERT INTO pool_bindings (pool, workspace_id) SELECT d.pool_name, `+number("workspace", "d.workspace_id")+` FROM old_rp_workspace_bindings d ON CONFLICT DO NOTHING`)
	if err != nil {
		return err
	}
	if err := p.putPolicies(ctx, tx); err != nil {
		return err
	}
	if err := p.putWebhooks(ctx, tx); err != nil {
		return err
	}
	return p.putRoles(ctx, tx)
}

// putPolicies imports the config policies that can be followed here. One of the whole cluster would be one for those who were here before, too.
func (p *pass) putPolicies(ctx context.Context, tx *database.DB) error {
	list, err := database.Rows[struct {
		Workspace *int   `db:"workspace"`
		Name      string `db:"name"`
		Workload  string `db:"workload"`
		Source    string `db:"source"`
	}](ctx, tx, `SELECT d.workspace_id AS workspace, coalesce(w.name, '') AS name, d.workload_type AS workload,
			jsonb_pretty(jsonb_strip_nulls(jsonb_build_object('invariant_config', d.invariant_config, 'constraints', d.constraints))) AS source
		FROM old_task_config_policies d LEFT JOIN old_workspaces w ON w.id = d.workspace_id WHERE d.workspace_id IS NOT NULL OR $1 = '' ORDER BY 1, 3`, p.Prefix)
	if err != nil {
		return err
	}
	for _, l := range list {
		if why := policyProblem(l.Workload, l.Source); why != nil {
			p.notes.add(fmt.Sprintf("the %s for %s was not imported: %v", workspaces.PolicyNamed(l.Name), l.Workload, why), 0)
			continue
		}
		args := p.args()
		args["old"], args["workload"], args["source"] = l.Workspace, l.Workload, l.Source
		err := tx.Exec(ctx, `
			INSERT INTO config_policies (workspace_id, workload, source, set_by, set_at)
			SELECT `+number("workspace", "d.workspace_id")+`, d.workload_type, @source, `+number("user", "d.last_updated_by")+`, d.last_updated_time
			FROM old_task_config_policies d WHERE d.workspace_id IS NOT DISTINCT FROM @old AND d.workload_type = @workload
			ON CONFLICT (coalesce(workspace_id, 0), workload) DO UPDATE SET source = excluded.source, set_by = excluded.set_by, set_at = excluded.set_at`, args)
		if err != nil {
			return err
		}
	}
	return nil
}

// putWebhooks imports webhooks, which are off until somebody has tested them here. Those of all workspaces would be told of what was here before, too.
func (p *pass) putWebhooks(ctx context.Context, tx *database.DB) error {
	const wanted = `(SELECT * FROM old_webhooks x WHERE x.workspace_id IS NOT NULL OR @prefix = '')`
	return p.put(ctx, tx,
		numbered("webhook", wanted, "webhooks", `SELECT h.id FROM webhooks h WHERE h.workspace_id IS NOT DISTINCT FROM `+number("workspace", "d.workspace_id")+` AND h.name = d.name`),
		`INSERT INTO webhooks (id, workspace_id, name, url, type, mode, off) OVERRIDING SYSTEM VALUE
		SELECT n.new, `+number("workspace", "d.workspace_id")+`, d.name, d.url, d.webhook_type, d.mode, true
		FROM `+wanted+` d JOIN import_numbers n ON n.import_id = @import AND n.kind = 'webhook' AND n.old = d.id
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, url = excluded.url, type = excluded.type, mode = excluded.mode WHERE webhooks.off`,
		`DELETE FROM webhook_triggers t USING webhooks w, import_numbers n WHERE w.id = t.webhook_id AND w.off AND n.import_id = @import AND n.kind = 'webhook' AND n.new = w.id`,
		`INSERT INTO webhook_triggers (webhook_id, type, condition) SELECT w.id, d.trigger_type, coalesce(d.condition, '{}')
		FROM old_webhook_triggers d JOIN import_numbers n ON n.import_id = @import AND n.kind = 'webhook' AND n.old = d.webhook_id JOIN webhooks w ON w.id = n.new AND w.off ORDER BY d.id`)
}

// policyProblem says why a policy cannot be followed here.
func policyProblem(workload, source string) error {
	if workload == workspaces.WorkloadTasks {
		policy, err := expconf.ParseCommandPolicy("the policy", []byte(source))
		return cmp.Or(err, expconf.CheckCommandPolicy(policy))
	}
	policy, err := expconf.ParsePolicy("the policy", []byte(source))
	return cmp.Or(err, expconf.CheckPolicy(policy))
}
