-- Those columns of Determined's tables that an import reads, as far as the REST API has them. Enumerations are texts.
CREATE TABLE gopg_migrations (version bigint);
CREATE TABLE cluster_id (cluster_id text);
CREATE TABLE users (id int PRIMARY KEY, username text, password_hash text, admin boolean, active boolean, display_name text, modified_at timestamptz, remote boolean, last_auth_at timestamptz);
CREATE TABLE agent_user_groups (user_id int, user_ text, uid int, group_ text, gid int);
CREATE TABLE groups (id int PRIMARY KEY, group_name text, user_id int);
CREATE TABLE user_group_membership (user_id int, group_id int);
CREATE TABLE roles (id int PRIMARY KEY, role_name text);
CREATE TABLE role_assignment_scopes (id int PRIMARY KEY, scope_workspace_id int);
CREATE TABLE role_assignments (group_id int, role_id int, scope_id int);
CREATE TABLE user_web_settings (user_id int, key text, storage_path text, value jsonb);
CREATE TABLE workspaces (id int PRIMARY KEY, name text, archived boolean, created_at timestamptz DEFAULT now(), user_id int, immutable boolean, uid int, user_ text, gid int, group_ text,
    checkpoint_storage_config jsonb, default_compute_pool text, default_aux_pool text);
CREATE TABLE workspace_pins (workspace_id int, user_id int, created_at timestamptz);
CREATE TABLE projects (id int PRIMARY KEY, name text, description text, archived boolean, created_at timestamptz DEFAULT now(), notes jsonb, workspace_id int, user_id int, immutable boolean, key text);
CREATE TABLE templates (name text PRIMARY KEY, config jsonb, workspace_id int);
CREATE TABLE rp_workspace_bindings (workspace_id int, pool_name text);
CREATE TABLE task_config_policies (workspace_id int, workload_type text, last_updated_by int, last_updated_time timestamptz DEFAULT now(), invariant_config jsonb, constraints jsonb);
CREATE TABLE webhooks (id int PRIMARY KEY, url text, webhook_type text, workspace_id int, name text, mode text);
CREATE TABLE webhook_triggers (id int, trigger_type text, condition jsonb, webhook_id int);
CREATE TABLE models (id int PRIMARY KEY, name text, description text, creation_time timestamptz, last_updated_time timestamptz, metadata jsonb, labels text[], user_id int, archived boolean, notes text, workspace_id int);
CREATE TABLE model_versions (id int PRIMARY KEY, model_id int, version int, checkpoint_uuid uuid, creation_time timestamptz, last_updated_time timestamptz, metadata jsonb, name text, comment text, user_id int,
    labels text[], notes text);
CREATE TABLE trial_source_infos (trial_id int, checkpoint_uuid uuid, model_id int, model_version int, trial_source_info_type text);
CREATE TABLE storage_backend (id int, shared_fs_id int, s3_id int, gcs_id int, azure_id int, directory_id int);
CREATE TABLE storage_backend_shared_fs (id int, host_path text, container_path text, checkpoint_path text, tensorboard_path text, storage_path text, propagation text);
CREATE TABLE storage_backend_s3 (id int, bucket text, access_key text, secret_key text, endpoint_url text, prefix text);
CREATE TABLE storage_backend_gcs (id int, bucket text, prefix text);
CREATE TABLE storage_backend_azure (id int, container text, connection_string text, account_url text, credential text);
CREATE TABLE storage_backend_directory (id int, container_path text);
CREATE TABLE experiments (id int PRIMARY KEY, state text, config jsonb, model_definition bytea DEFAULT '', start_time timestamptz, end_time timestamptz, archived boolean, parent_id int, owner_id int, progress float8,
    original_config text, notes text, job_id text, project_id int, best_trial_id int, unmanaged boolean, external_experiment_id text, pool text, code_known boolean DEFAULT false);
CREATE TABLE runs (id int PRIMARY KEY, experiment_id int, state text, start_time timestamptz, end_time timestamptz, hparams jsonb, warm_start_checkpoint_id bigint, warm_start uuid, best_validation_id bigint,
    latest_validation_id bigint, best_batches int, latest_batches int, runner_state text, restart_id int, restarts int, searcher_metric_value float8, total_batches int, summary_metrics jsonb,
    summary_metrics_timestamp timestamptz, last_activity timestamptz, external_run_id text, project_id int, log_retention_days smallint, archived boolean, local_id int, log_policy_matched text,
    wanted text, fetched text, logged text);
CREATE INDEX ON runs (experiment_id);
CREATE TABLE trials_v2 (run_id int PRIMARY KEY, seed bigint);
CREATE TABLE runs_metadata (run_id int PRIMARY KEY, metadata jsonb);
CREATE TABLE run_id_task_id (run_id int, task_id text, PRIMARY KEY (run_id, task_id));
CREATE TABLE tasks (task_id text PRIMARY KEY, task_type text, start_time timestamptz, end_time timestamptz, job_id text, log_version smallint DEFAULT 1);
CREATE TABLE jobs (job_id text PRIMARY KEY, owner_id int);
CREATE TABLE allocations (allocation_id text PRIMARY KEY, task_id text, resource_pool text, slots int, state text, start_time timestamptz, end_time timestamptz, exit_reason text, exit_error text, status_code int);
CREATE INDEX ON allocations (task_id);
CREATE TABLE allocation_workspace_info (allocation_id text PRIMARY KEY, workspace_id int, workspace_name text, experiment_id int);
CREATE TABLE local_id_redirect (run_id int, project_id int, project_key text, local_id int);
CREATE TABLE checkpoints_v2 (id bigint GENERATED ALWAYS AS IDENTITY, uuid uuid PRIMARY KEY, task_id text, allocation_id text, report_time timestamptz, state text, resources jsonb, metadata jsonb, size bigint, storage_id int);
CREATE INDEX ON checkpoints_v2 (id);
CREATE TABLE run_checkpoints (run_id int, checkpoint_id uuid PRIMARY KEY);
CREATE INDEX ON run_checkpoints (run_id);
CREATE TABLE raw_steps (id bigint GENERATED ALWAYS AS IDENTITY, trial_id int, end_time timestamptz, metrics jsonb, total_batches int, trial_run_id int, archived boolean, metric_group text);
CREATE TABLE raw_validations (LIKE raw_steps INCLUDING ALL);
CREATE TABLE generic_metrics (LIKE raw_steps INCLUDING ALL);
CREATE TABLE system_metrics (LIKE raw_steps INCLUDING ALL);
CREATE INDEX ON raw_steps (trial_id);
CREATE INDEX ON raw_validations (trial_id);
CREATE INDEX ON raw_validations (id);
CREATE INDEX ON generic_metrics (trial_id);
CREATE INDEX ON system_metrics (trial_id);
CREATE TABLE task_logs (id bigint, task_id text, allocation_id text, agent_id text, container_id text, rank_id int, source text, stdtype text, level text, timestamp timestamp, log bytea);
CREATE INDEX ON task_logs (task_id, id);
CREATE TABLE trial_logs (id bigint, trial_id int, agent_id text, container_id text, rank_id int, source text, stdtype text, level text, timestamp timestamp, log bytea, message bytea);
