package importer

import (
	"context"
	"fmt"
	"strings"

	"github.com/detent-ml/detent/master/database"
)

// A relation is a table of the old database, or a part of it, that becomes the temporary table old_<name>.
type relation struct {
	name    string
	columns string // as in CREATE TABLE; the old table has columns of these names
	from    string // the old table, or what follows FROM; "": its name is that of the relation
}

// people is how many of the relations are about people.
const people = 6

// relations are the old tables with few rows. Enumerations and short numbers arrive as their texts, so a column has the type that we want.
var relations = []relation{
	{"users", "id int, username text, password_hash text, admin boolean, active boolean, display_name text, modified_at timestamptz, remote boolean, last_auth_at timestamptz", ""},
	{"agent_user_groups", "user_id int, user_ text, uid int, group_ text, gid int", ""},
	{"groups", "id int, group_name text, user_id int", ""},
	{"user_group_membership", "user_id int, group_id int", ""},
	{"role_assignments", "group_id int, role_name text, workspace_id int", "(SELECT a.group_id, r.role_name, s.scope_workspace_id AS workspace_id FROM role_assignments a JOIN roles r ON r.id = a.role_id LEFT JOIN role_assignment_scopes s ON s.id = a.scope_id) x"},
	{"user_web_settings", "user_id int, key text, storage_path text, value jsonb", ""},
	{"workspaces", "id int, name text, archived boolean, created_at timestamptz, user_id int, immutable boolean, uid int, user_ text, gid int, group_ text, checkpoint_storage_config jsonb, default_compute_pool text, default_aux_pool text", ""},
	{"workspace_pins", "workspace_id int, user_id int, created_at timestamptz", ""},
	{"projects", "id int, name text, description text, archived boolean, created_at timestamptz, notes jsonb, workspace_id int, user_id int, immutable boolean, key text", ""},
	{"templates", "name text, config jsonb, workspace_id int", ""},
	{"rp_workspace_bindings", "workspace_id int, pool_name text", ""},
	{"task_config_policies", "workspace_id int, workload_type text, last_updated_by int, last_updated_time timestamptz, invariant_config jsonb, constraints jsonb", ""},
	{"experiments", "id int, state text, config jsonb, code bytea, start_time timestamptz, end_time timestamptz, archived boolean, parent_id int, owner_id int, progress float8, original_config text, notes text, job_id text, project_id int, best_trial_id int, unmanaged boolean, external_experiment_id text",
		"(SELECT *, CASE WHEN octet_length(model_definition) > 0 THEN sha256(model_definition) END AS code FROM experiments) x"},
	{"runs", "id int, experiment_id int, state text, start_time timestamptz, end_time timestamptz, hparams jsonb, warm_start uuid, restart_id int, restarts int, runner_state text, searcher_metric_value float8, total_batches int, best_run int, best_steps int, latest_run int, latest_steps int, summary_metrics jsonb, external_run_id text, archived boolean, local_name text, log_policy_matched text, log_retention_days smallint, seed bigint, metadata jsonb, last_activity timestamptz, mark text",
		`(SELECT r.id, r.experiment_id, r.state, r.start_time, r.end_time, r.hparams, w.uuid AS warm_start, r.restart_id, r.restarts, r.runner_state, r.searcher_metric_value, r.total_batches,
			b.trial_run_id AS best_run, b.total_batches AS best_steps, l.trial_run_id AS latest_run, l.total_batches AS latest_steps, r.summary_metrics, r.external_run_id, r.archived,
			CASE WHEN r.local_id IS NOT NULL THEN p.key || '-' || r.local_id END AS local_name, r.log_policy_matched, r.log_retention_days, t.seed, m.metadata, r.last_activity, ` + trialMark + ` AS mark
		FROM runs r JOIN projects p ON p.id = r.project_id LEFT JOIN trials_v2 t ON t.run_id = r.id LEFT JOIN runs_metadata m ON m.run_id = r.id
			LEFT JOIN checkpoints_v2 w ON w.id = r.warm_start_checkpoint_id
			LEFT JOIN raw_validations b ON b.id = r.best_validation_id LEFT JOIN raw_validations l ON l.id = r.latest_validation_id) x`},
	{"run_tasks", "run_id int, task_id text, start_time timestamptz, end_time timestamptz, job_id text", "(SELECT r.run_id, t.task_id, t.start_time, t.end_time, t.job_id FROM run_id_task_id r JOIN tasks t ON t.task_id = r.task_id) x"},
	{"earlier_names", "run_id int, name text", "(SELECT DISTINCT d.run_id, d.project_key || '-' || d.local_id AS name FROM local_id_redirect d WHERE d.run_id IS NOT NULL) x"},
	{"allocations", "allocation_id text, task_id text, task_type text, owner_id int, workspace_id int, workspace_name text, experiment_id int, resource_pool text, slots int, state text, start_time timestamptz, end_time timestamptz, exit_reason text, exit_error text, status_code int",
		`(SELECT a.allocation_id, a.task_id, t.task_type, j.owner_id, i.workspace_id, i.workspace_name, i.experiment_id, a.resource_pool, a.slots, a.state, a.start_time, a.end_time, a.exit_reason, a.exit_error, a.status_code
		FROM allocations a JOIN tasks t ON t.task_id = a.task_id LEFT JOIN jobs j ON j.job_id = t.job_id LEFT JOIN allocation_workspace_info i ON i.allocation_id = a.allocation_id) x`},
	{"checkpoints", "uuid uuid, task_id text, allocation_id text, run_id int, report_time timestamptz, state text, resources jsonb, metadata jsonb, size bigint, storage jsonb",
		`(SELECT k.uuid, k.task_id, k.allocation_id, (SELECT min(c.run_id) FROM run_checkpoints c WHERE c.checkpoint_id = k.uuid) AS run_id, k.report_time, k.state, k.resources, k.metadata, coalesce(k.size, 0) AS size, ` + storageOf + ` AS storage
		FROM checkpoints_v2 k LEFT JOIN storage_backend s ON s.id = k.storage_id) x WHERE uuid IS NOT NULL`},
	{"webhooks", "id int, url text, webhook_type text, workspace_id int, name text, mode text", ""},
	{"webhook_triggers", "id int, trigger_type text, condition jsonb, webhook_id int", ""},
	{"models", "id int, name text, description text, creation_time timestamptz, last_updated_time timestamptz, metadata jsonb, labels text[], user_id int, archived boolean, notes text, workspace_id int", ""},
	{"model_versions", "id int, model_id int, version int, checkpoint_uuid uuid, creation_time timestamptz, last_updated_time timestamptz, metadata jsonb, name text, comment text, user_id int, labels text[], notes text", ""},
	{"trial_source_infos", "trial_id int, checkpoint_uuid uuid, model_id int, model_version int, trial_source_info_type text", ""},
}

// trialMark changes when a run's row does: while it trains, when it restarts, and when it ends.
const trialMark = `md5(concat_ws('|', r.state, r.archived, r.project_id, r.local_id, r.log_policy_matched, (SELECT md5(x.metadata::text) FROM runs_metadata x WHERE x.run_id = r.id), r.end_time, r.restart_id, r.restarts, r.total_batches, r.best_validation_id, r.latest_validation_id, r.summary_metrics_timestamp, md5(r.summary_metrics::text)))`

// storageOf is a storage that a program named, as the section checkpoint_storage of a configuration; NULL: that of the experiment.
const storageOf = `CASE
	WHEN s.shared_fs_id IS NOT NULL THEN (SELECT jsonb_strip_nulls(jsonb_build_object('type', 'shared_fs', 'host_path', host_path, 'container_path', container_path, 'checkpoint_path', checkpoint_path,
		'tensorboard_path', tensorboard_path, 'storage_path', storage_path, 'propagation', propagation)) FROM storage_backend_shared_fs b WHERE b.id = s.shared_fs_id)
	WHEN s.s3_id IS NOT NULL THEN (SELECT jsonb_strip_nulls(jsonb_build_object('type', 's3', 'bucket', bucket, 'access_key', access_key, 'secret_key', secret_key, 'endpoint_url', endpoint_url, 'prefix', prefix))
		FROM storage_backend_s3 b WHERE b.id = s.s3_id)
	WHEN s.gcs_id IS NOT NULL THEN (SELECT jsonb_strip_nulls(jsonb_build_object('type', 'gcs', 'bucket', bucket, 'prefix', prefix)) FROM storage_backend_gcs b WHERE b.id = s.gcs_id)
	WHEN s.azure_id IS NOT NULL THEN (SELECT jsonb_strip_nulls(jsonb_build_object('type', 'azure', 'container', container, 'connection_string', connection_string, 'account_url', account_url, 'credential', credential))
		FROM storage_backend_azure b WHERE b.id = s.azure_id)
	WHEN s.directory_id IS NOT NULL THEN (SELECT jsonb_build_object('type', 'directory', 'container_path', container_path) FROM storage_backend_directory b WHERE b.id = s.directory_id) END`

// names lists the columns of the relation.
func (r relation) names() []string {
	var names []string
	for c := range strings.SplitSeq(r.columns, ", ") {
		name, _, _ := strings.Cut(c, " ")
		names = append(names, name)
	}
	return names
}

// query reads the relation in the old database.
func (r relation) query() string {
	from := r.from
	if from == "" {
		from = r.name
	}
	return "SELECT " + strings.Join(r.names(), ", ") + " FROM " + from
}

// indexed are the columns by which statements look rows up, one by one.
var indexed = []string{"old_runs (id)", "old_runs (experiment_id)", "old_run_tasks (run_id)", "old_run_tasks (task_id)", "old_allocations (task_id)", "old_experiments (id)"}

// stagePeople copies the old tables of people.
func (p *pass) stagePeople(ctx context.Context, tx *database.DB) error {
	return p.stageTables(ctx, tx, relations[:people])
}

// stage copies the other old tables too: roles need the groups of people.
func (p *pass) stage(ctx context.Context, tx *database.DB) error {
	if err := p.stageTables(ctx, tx, relations); err != nil {
		return err
	}
	for _, columns := range indexed {
		if err := tx.Exec(ctx, "CREATE INDEX ON "+columns); err != nil {
			return err
		}
	}
	return nil
}

func (p *pass) stageTables(ctx context.Context, tx *database.DB, list []relation) error {
	for _, r := range list {
		table := "old_" + r.name
		if err := tx.Exec(ctx, "CREATE TEMP TABLE "+table+" ("+r.columns+") ON COMMIT DROP"); err != nil {
			return err
		}
		n, err := tx.Receive(ctx, p.source, r.query(), table, r.names())
		if err != nil {
			return fmt.Errorf("table %s: %w", r.name, err)
		}
		p.show.add(n)
		if err := tx.Exec(ctx, "ANALYZE "+table); err != nil {
			return err
		}
	}
	return nil
}

func firstLine(sql string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(sql), "\n")
	return line
}
