package importer

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/workspaces"
)

// putPlaces imports workspaces, projects, and what belongs to a workspace. The built-in workspace and its project become ours; with a prefix
// they are workspaces like others.
func (p *pass) putPlaces(ctx context.Context, tx *database.DB) error {
	if err := p.put(ctx, tx, numbered("workspace", "old_workspaces", "workspaces", `@prefix = '' AND (x.immutable AND d.immutable OR x.name = d.name)`)...); err != nil {
		return err
	}
	if err := p.freePlaces(ctx, tx); err != nil {
		return err
	}
	statements := []string{
		freeNames("workspace", "workspaces", "name", "old_workspaces", "@prefix || d.name"),
		`INSERT INTO workspaces (id, name, owner_id, archived, settings, created_at) OVERRIDING SYSTEM VALUE
		SELECT n.new, @prefix || d.name, ` + owner("d.user_id") + `, d.archived, jsonb_strip_nulls(jsonb_build_object(
			'default_compute_pool', nullif(d.default_compute_pool, ''), 'default_aux_pool', nullif(d.default_aux_pool, ''), 'checkpoint_storage', d.checkpoint_storage_config,
			'agent_user', CASE WHEN d.uid IS NOT NULL OR d.gid IS NOT NULL THEN jsonb_strip_nulls(jsonb_build_object('uid', d.uid, 'gid', d.gid, 'user', d.user_, 'group', d.group_)) END)),
			d.created_at
		FROM old_workspaces d JOIN import_numbers n ON n.import_id = @import AND n.kind = 'workspace' AND n.old = d.id
		ON CONFLICT (id) DO UPDATE SET name = CASE WHEN workspaces.immutable THEN workspaces.name ELSE excluded.name END, archived = excluded.archived, settings = excluded.settings
		WHERE workspaces.deleting_at IS NULL AND ` + made("workspace", "workspaces.id"),
		`INSERT INTO workspace_pins (user_id, workspace_id, pinned_at) SELECT ` + number("user", "d.user_id") + `, ` + number("workspace", "d.workspace_id") + `, d.created_at FROM old_workspace_pins d
		WHERE ` + number("user", "d.user_id") + ` IS NOT NULL AND ` + number("workspace", "d.workspace_id") + ` IS NOT NULL ON CONFLICT DO NOTHING`,
		`DELETE FROM workspace_pins x USING import_numbers u, import_numbers w WHERE u.import_id = @import AND u.kind = 'user' AND u.new = x.user_id AND w.import_id = @import AND w.kind = 'workspace' AND w.made AND w.new = x.workspace_id
			AND NOT EXISTS (SELECT FROM old_workspace_pins d WHERE d.user_id = u.old AND d.workspace_id = w.old)`,
	}
	statements = append(statements, numbered("project", "old_projects", "projects", `@prefix = '' AND (x.immutable AND d.immutable OR x.workspace_id = `+number("workspace", "d.workspace_id")+` AND x.name = d.name)`)...)
	statements = append(statements,
		`CREATE TEMP TABLE project_keys ON COMMIT DROP AS SELECT n.new AS id, CASE WHEN d.key IS NULL OR EXISTS (SELECT FROM projects x WHERE x.key = d.key AND x.id <> n.new AND NOT EXISTS
				(SELECT FROM import_numbers o WHERE o.import_id = @import AND o.kind = 'project' AND o.new = x.id)) THEN upper(left(md5(@prefix || n.new), 5)) ELSE d.key END AS key
		FROM old_projects d JOIN import_numbers n ON n.import_id = @import AND n.kind = 'project' AND n.old = d.id`,
		`UPDATE projects x SET key = md5(x.id || x.key) FROM project_keys k WHERE k.id = x.id AND k.key <> x.key`,
		`UPDATE projects x SET name = 'import-' || md5(x.id || x.name) FROM old_projects d JOIN import_numbers n ON n.import_id = @import AND n.kind = 'project' AND n.old = d.id
		WHERE n.new = x.id AND NOT x.immutable AND (x.name, x.workspace_id) IS DISTINCT FROM (d.name, coalesce(`+number("workspace", "d.workspace_id")+`, 1))`,
		`INSERT INTO projects (id, workspace_id, name, key, description, owner_id, archived, notes, created_at) OVERRIDING SYSTEM VALUE
		SELECT n.new, coalesce(`+number("workspace", "d.workspace_id")+`, 1), d.name, k.key, coalesce(d.description, ''), `+owner("d.user_id")+`, d.archived, coalesce(d.notes, '[]'), d.created_at
		FROM old_projects d JOIN import_numbers n ON n.import_id = @import AND n.kind = 'project' AND n.old = d.id JOIN project_keys k ON k.id = n.new
		ON CONFLICT (id) DO UPDATE SET workspace_id = excluded.workspace_id, name = excluded.name, key = excluded.key, description = excluded.description, archived = excluded.archived, notes = excluded.notes
		WHERE projects.deleting_at IS NULL AND (projects.workspace_id, projects.name, projects.key, projects.description, projects.archived, projects.notes) IS DISTINCT FROM
			(excluded.workspace_id, excluded.name, excluded.key, excluded.description, excluded.archived, excluded.notes)`,
		`DELETE FROM templates t USING import_numbers n WHERE n.import_id = @import AND n.kind = 'workspace' AND n.made AND n.new = t.workspace_id AND NOT EXISTS (SELECT FROM old_templates d WHERE @prefix || d.name = t.name)`,
		`INSERT INTO templates (name, workspace_id, owner_id, source, config)
		SELECT @prefix || d.name, `+number("workspace", "d.workspace_id")+`, `+owner("w.user_id")+`, jsonb_pretty(d.config), d.config
		FROM old_templates d JOIN old_workspaces w ON w.id = d.workspace_id
		ON CONFLICT (name) DO UPDATE SET source = excluded.source, config = excluded.config, workspace_id = excluded.workspace_id WHERE templates.config IS DISTINCT FROM excluded.config
			AND EXISTS (SELECT FROM import_numbers n WHERE n.import_id = @import AND n.kind = 'workspace' AND n.new = templates.workspace_id)`,
		// A pool that is bound to no workspace is open to all, so a binding would close it for those who were here before.
		`DELETE FROM pool_bindings b USING import_numbers n WHERE @prefix = '' AND n.import_id = @import AND n.kind = 'workspace' AND n.new = b.workspace_id
			AND NOT EXISTS (SELECT FROM old_rp_workspace_bindings d WHERE d.workspace_id = n.old AND d.pool_name = b.pool)`,
		`INSERT INTO pool_bindings (pool, workspace_id) SELECT d.pool_name, `+number("workspace", "d.workspace_id")+` FROM old_rp_workspace_bindings d
		WHERE @prefix = '' OR EXISTS (SELECT FROM pool_bindings b WHERE b.pool = d.pool_name) ON CONFLICT DO NOTHING`)
	if err := p.put(ctx, tx, statements...); err != nil {
		return err
	}
	for _, put := range []func(context.Context, *database.DB) error{p.putPolicies, p.putWebhooks, p.putRoles} {
		if err := put(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// freePlaces fails if a workspace or a template here has a name that an imported one needs.
func (p *pass) freePlaces(ctx context.Context, tx *database.DB) error {
	for _, c := range []struct{ noun, sql string }{
		{"workspace", `SELECT x.name FROM old_workspaces d JOIN workspaces x ON x.name = @prefix || d.name AND NOT x.immutable WHERE NOT EXISTS (SELECT FROM import_numbers n WHERE n.import_id = @import AND n.kind = 'workspace' AND n.new = x.id) LIMIT 5`},
		{"template", `SELECT t.name FROM old_templates d JOIN templates t ON t.name = @prefix || d.name WHERE NOT EXISTS (SELECT FROM import_numbers n WHERE n.import_id = @import AND n.kind = 'workspace' AND n.new = t.workspace_id) LIMIT 5`},
		{"model", `SELECT m.name FROM old_models d JOIN models m ON m.name = @prefix || d.name WHERE NOT EXISTS (SELECT FROM import_numbers n WHERE n.import_id = @import AND n.kind = 'model' AND n.new = m.id) LIMIT 5`},
	} {
		taken, err := database.Scalars[string](ctx, tx, c.sql, p.args())
		if err == nil && len(taken) > 0 {
			err = fault.New(fault.Conflict, "there is another %s with the name of an imported one: %s; rename it, or choose another --workspace-prefix", c.noun, strings.Join(taken, ", "))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// An oldPolicy is a config policy of the old cluster.
type oldPolicy struct {
	Workspace *int   `db:"workspace"`
	Name      string `db:"name"`
	Workload  string `db:"workload"`
	Source    string `db:"source"`
}

// oldPolicies reads the config policies that come; one of the whole cluster would be one for those who were here before, too.
func (p *pass) oldPolicies(ctx context.Context, tx *database.DB) ([]oldPolicy, error) {
	return database.Rows[oldPolicy](ctx, tx, `SELECT d.workspace_id AS workspace, coalesce(w.name, '') AS name, d.workload_type AS workload,
			jsonb_pretty(jsonb_strip_nulls(jsonb_build_object('invariant_config', d.invariant_config, 'constraints', d.constraints))) AS source
		FROM old_task_config_policies d LEFT JOIN old_workspaces w ON w.id = d.workspace_id WHERE d.workspace_id IS NOT NULL OR $1 = '' ORDER BY 1, 3`, p.Prefix)
}

// notePolicies notes the config policies that cannot be followed here.
func (p *pass) notePolicies(ctx context.Context, tx *database.DB) error {
	list, err := p.oldPolicies(ctx, tx)
	for _, l := range list {
		if why := policyProblem(l.Workload, l.Source); why != nil {
			p.notes.add(fmt.Sprintf("the %s for %s is not imported: %v", workspaces.PolicyNamed(l.Name), l.Workload, why), 0)
		}
	}
	return err
}

// putPolicies imports the config policies that can be followed here.
func (p *pass) putPolicies(ctx context.Context, tx *database.DB) error {
	if err := p.notePolicies(ctx, tx); err != nil {
		return err
	}
	list, err := p.oldPolicies(ctx, tx)
	if err == nil {
		err = p.put(ctx, tx, `DELETE FROM config_policies c WHERE (c.workspace_id IS NULL AND @prefix = '' OR EXISTS (SELECT FROM import_numbers n WHERE n.import_id = @import AND n.kind = 'workspace' AND n.new = c.workspace_id AND (n.made OR @prefix = '')))`)
	}
	for _, l := range list {
		if err != nil || policyProblem(l.Workload, l.Source) != nil {
			continue
		}
		args := p.args()
		args["old"], args["workload"], args["source"] = l.Workspace, l.Workload, l.Source
		err = tx.Exec(ctx, `
			INSERT INTO config_policies (workspace_id, workload, source, set_by, set_at)
			SELECT `+number("workspace", "d.workspace_id")+`, d.workload_type, @source, `+number("user", "d.last_updated_by")+`, d.last_updated_time
			FROM old_task_config_policies d WHERE d.workspace_id IS NOT DISTINCT FROM @old AND d.workload_type = @workload`, args)
	}
	return err
}

// putWebhooks imports webhooks, which are off until somebody has tested them here. Those of all workspaces would be told of what was here before, too.
func (p *pass) putWebhooks(ctx context.Context, tx *database.DB) error {
	const wanted = `(SELECT * FROM old_webhooks x WHERE x.workspace_id IS NOT NULL OR @prefix = '')`
	return p.put(ctx, tx, append(numbered("webhook", wanted, "webhooks", `false`),
		`INSERT INTO webhooks (id, workspace_id, name, url, type, mode, off) OVERRIDING SYSTEM VALUE
		SELECT n.new, `+number("workspace", "d.workspace_id")+`, d.name, d.url, d.webhook_type, d.mode, true
		FROM `+wanted+` d JOIN import_numbers n ON n.import_id = @import AND n.kind = 'webhook' AND n.old = d.id
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, url = excluded.url, type = excluded.type, mode = excluded.mode WHERE webhooks.off`,
		`DELETE FROM webhook_triggers t USING webhooks w, import_numbers n WHERE w.id = t.webhook_id AND w.off AND n.import_id = @import AND n.kind = 'webhook' AND n.new = w.id`,
		`INSERT INTO webhook_triggers (webhook_id, type, condition) SELECT w.id, d.trigger_type, coalesce(d.condition, '{}')
		FROM old_webhook_triggers d JOIN import_numbers n ON n.import_id = @import AND n.kind = 'webhook' AND n.old = d.webhook_id JOIN webhooks w ON w.id = n.new AND w.off ORDER BY d.id`)...)
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
