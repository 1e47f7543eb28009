-- Facts of the schema of Determined 0.38.1 (migration 20241024164947): the names and types of the tables and columns that an import reads.

CREATE TYPE allocation_state AS ENUM ('PENDING', 'ASSIGNED', 'PULLING', 'STARTING', 'RUNNING', 'WAITING', 'TERMINATING', 'TERMINATED');
CREATE TYPE checkpoint_state AS ENUM ('ACTIVE', 'COMPLETED', 'ERROR', 'DELETED', 'PARTIALLY_DELETED');
CREATE TYPE experiment_state AS ENUM ('ACTIVE', 'PAUSED', 'STOPPING_CANCELED', 'STOPPING_KILLED', 'STOPPING_COMPLETED', 'STOPPING_ERROR', 'DELETING', 'CANCELED', 'COMPLETED', 'ERROR', 'DELETE_FAILED', 'RUNNING');
CREATE TYPE job_type AS ENUM ('EXPERIMENT', 'NOTEBOOK', 'SHELL', 'COMMAND', 'TENSORBOARD', 'CHECKPOINT_GC', 'GENERIC');
CREATE TYPE task_state AS ENUM ('ACTIVE', 'CANCELED', 'COMPLETED', 'ERROR', 'PAUSED', 'STOPPING_PAUSED', 'STOPPING_CANCELED', 'STOPPING_COMPLETED', 'STOPPING_ERROR');
CREATE TYPE task_type AS ENUM ('TRIAL', 'NOTEBOOK', 'SHELL', 'COMMAND', 'TENSORBOARD', 'CHECKPOINT_GC', 'GENERIC');
CREATE TYPE trial_source_info_type AS ENUM ('TRIAL_SOURCE_INFO_TYPE_INFERENCE', 'TRIAL_SOURCE_INFO_TYPE_FINE_TUNING');
CREATE TYPE trial_state AS ENUM ('ACTIVE', 'PAUSED', 'STOPPING_CANCELED', 'STOPPING_KILLED', 'STOPPING_COMPLETED', 'STOPPING_ERROR', 'CANCELED', 'COMPLETED', 'ERROR', 'RUNNING');
CREATE TYPE trigger_type AS ENUM ('EXPERIMENT_STATE_CHANGE', 'METRIC_THRESHOLD_EXCEEDED', 'TASK_LOG', 'CUSTOM');
CREATE TYPE webhook_mode AS ENUM ('WORKSPACE', 'SPECIFIC');
CREATE TYPE webhook_type AS ENUM ('DEFAULT', 'SLACK');
CREATE TYPE workload_type AS ENUM ('EXPERIMENT', 'NTSC');
CREATE TYPE workspace_state AS ENUM ('UNSPECIFIED', 'DELETED', 'DELETING', 'DELETE_FAILED');

CREATE TABLE agent_user_groups (
    id integer NOT NULL,
    user_id integer NOT NULL,
    user_ text NOT NULL,
    uid integer NOT NULL,
    group_ text NOT NULL,
    gid integer NOT NULL
);
CREATE TABLE allocation_workspace_info (
    allocation_id text NOT NULL,
    workspace_id integer,
    workspace_name text,
    experiment_id integer
);
CREATE UNIQUE INDEX ON allocation_workspace_info (allocation_id);
CREATE TABLE allocations (
    task_id text NOT NULL,
    allocation_id text NOT NULL,
    resource_pool text NOT NULL,
    start_time timestamp,
    end_time timestamp,
    slots smallint NOT NULL,
    state allocation_state,
    is_ready boolean,
    ports jsonb NOT NULL,
    proxy_address text,
    exit_reason text,
    exit_error text,
    status_code integer
);
CREATE UNIQUE INDEX ON allocations (allocation_id);
CREATE TABLE checkpoints_v2 (
    id bigint,
    uuid uuid NOT NULL,
    task_id text,
    allocation_id text,
    report_time timestamptz NOT NULL,
    state checkpoint_state NOT NULL,
    resources jsonb,
    metadata jsonb,
    size bigint NOT NULL,
    storage_id integer
);
CREATE UNIQUE INDEX ON checkpoints_v2 (uuid);
CREATE INDEX ON checkpoints_v2 (id);
CREATE TABLE cluster_id (
    cluster_id text NOT NULL,
    cluster_heartbeat timestamp NOT NULL
);
CREATE TABLE experiments (
    id integer NOT NULL,
    state experiment_state NOT NULL,
    config jsonb NOT NULL,
    model_definition bytea NOT NULL,
    start_time timestamptz NOT NULL,
    end_time timestamptz,
    archived boolean NOT NULL,
    parent_id integer,
    owner_id integer NOT NULL,
    progress double precision,
    original_config text,
    notes text NOT NULL,
    job_id text NOT NULL,
    project_id integer NOT NULL,
    checkpoint_size bigint NOT NULL,
    checkpoint_count integer NOT NULL,
    best_trial_id integer,
    unmanaged boolean NOT NULL,
    external_experiment_id text
);
CREATE UNIQUE INDEX ON experiments (id);
CREATE TABLE generic_metrics (
    trial_id integer NOT NULL,
    end_time timestamptz,
    metrics jsonb,
    total_batches integer NOT NULL,
    trial_run_id integer NOT NULL,
    archived boolean NOT NULL,
    id integer NOT NULL,
    metric_group text NOT NULL,
    partition_type text NOT NULL
);
CREATE UNIQUE INDEX ON generic_metrics (trial_id, total_batches, trial_run_id, metric_group);
CREATE TABLE gopg_migrations (
    id integer NOT NULL,
    version bigint,
    created_at timestamptz
);
CREATE TABLE groups (
    id integer NOT NULL,
    group_name text NOT NULL,
    user_id integer
);
CREATE TABLE jobs (
    job_id text NOT NULL,
    job_type job_type NOT NULL,
    owner_id integer,
    q_position text NOT NULL
);
CREATE UNIQUE INDEX ON jobs (job_id);
CREATE TABLE local_id_redirect (
    run_id integer,
    project_id integer,
    project_key text NOT NULL,
    local_id integer NOT NULL
);
CREATE TABLE model_versions (
    version integer NOT NULL,
    checkpoint_uuid uuid NOT NULL,
    creation_time timestamptz NOT NULL,
    last_updated_time timestamptz,
    metadata jsonb,
    model_id integer NOT NULL,
    id integer NOT NULL,
    name text,
    comment text,
    user_id integer,
    labels text[],
    notes text,
    seq bigint
);
CREATE TABLE models (
    name text NOT NULL,
    description text,
    creation_time timestamptz NOT NULL,
    last_updated_time timestamptz,
    metadata jsonb,
    id integer NOT NULL,
    labels text[],
    user_id integer NOT NULL,
    archived boolean NOT NULL,
    notes text,
    workspace_id integer NOT NULL,
    seq bigint
);
CREATE TABLE projects (
    id integer NOT NULL,
    name text NOT NULL,
    description text,
    archived boolean NOT NULL,
    created_at timestamptz NOT NULL,
    notes jsonb,
    workspace_id integer,
    user_id integer,
    immutable boolean,
    state workspace_state,
    error_message text,
    seq bigint,
    key varchar(5),
    max_local_id integer NOT NULL
);
CREATE TABLE raw_steps (
    trial_id integer NOT NULL,
    end_time timestamptz,
    metrics jsonb,
    total_batches integer NOT NULL,
    trial_run_id integer NOT NULL,
    archived boolean NOT NULL,
    id integer NOT NULL,
    metric_group text NOT NULL,
    partition_type text NOT NULL
);
CREATE UNIQUE INDEX ON raw_steps (trial_id, total_batches, trial_run_id);
CREATE TABLE raw_validations (
    id integer NOT NULL,
    trial_id integer NOT NULL,
    end_time timestamptz,
    metrics jsonb,
    total_batches integer NOT NULL,
    trial_run_id integer NOT NULL,
    archived boolean NOT NULL,
    metric_group text NOT NULL,
    partition_type text NOT NULL
);
CREATE UNIQUE INDEX ON raw_validations (trial_id, total_batches, trial_run_id);
CREATE UNIQUE INDEX ON raw_validations (id);
CREATE TABLE role_assignment_scopes (
    id integer NOT NULL,
    scope_workspace_id integer
);
CREATE TABLE role_assignments (
    group_id integer,
    role_id integer,
    scope_id integer
);
CREATE TABLE roles (
    id integer NOT NULL,
    role_name text NOT NULL,
    created_at timestamp NOT NULL
);
CREATE TABLE rp_workspace_bindings (
    workspace_id integer NOT NULL,
    pool_name text NOT NULL,
    valid boolean NOT NULL
);
CREATE TABLE run_checkpoints (
    run_id integer NOT NULL,
    checkpoint_id uuid NOT NULL
);
CREATE UNIQUE INDEX ON run_checkpoints (run_id, checkpoint_id);
CREATE UNIQUE INDEX ON run_checkpoints (checkpoint_id);
CREATE TABLE run_id_task_id (
    run_id integer NOT NULL,
    task_id text NOT NULL
);
CREATE UNIQUE INDEX ON run_id_task_id (run_id, task_id);
CREATE TABLE runs (
    id integer NOT NULL,
    experiment_id integer NOT NULL,
    state trial_state NOT NULL,
    start_time timestamptz NOT NULL,
    end_time timestamptz,
    hparams jsonb NOT NULL,
    warm_start_checkpoint_id integer,
    best_validation_id integer,
    runner_state text NOT NULL,
    restart_id integer NOT NULL,
    restarts integer NOT NULL,
    tags jsonb,
    checkpoint_size bigint NOT NULL,
    checkpoint_count integer NOT NULL,
    searcher_metric_value double precision,
    total_batches integer NOT NULL,
    searcher_metric_value_signed double precision,
    latest_validation_id integer,
    summary_metrics jsonb NOT NULL,
    summary_metrics_timestamp timestamptz,
    last_activity timestamptz,
    external_run_id text,
    project_id integer NOT NULL,
    log_retention_days smallint,
    archived boolean NOT NULL,
    local_id integer,
    log_policy_matched text
);
CREATE UNIQUE INDEX ON runs (id);
CREATE INDEX ON runs (experiment_id);
CREATE TABLE runs_metadata (
    run_id integer NOT NULL,
    metadata jsonb
);
CREATE UNIQUE INDEX ON runs_metadata (run_id);
CREATE TABLE storage_backend (
    id integer NOT NULL,
    shared_fs_id integer,
    s3_id integer,
    gcs_id integer,
    azure_id integer,
    directory_id integer
);
CREATE TABLE storage_backend_azure (
    id integer NOT NULL,
    container text NOT NULL,
    connection_string text,
    account_url text,
    credential text
);
CREATE TABLE storage_backend_directory (
    id integer NOT NULL,
    container_path text
);
CREATE TABLE storage_backend_gcs (
    id integer NOT NULL,
    bucket text NOT NULL,
    prefix text
);
CREATE TABLE storage_backend_s3 (
    id integer NOT NULL,
    bucket text NOT NULL,
    access_key text,
    secret_key text,
    endpoint_url text,
    prefix text
);
CREATE TABLE storage_backend_shared_fs (
    id integer NOT NULL,
    host_path text NOT NULL,
    container_path text,
    checkpoint_path text,
    tensorboard_path text,
    storage_path text,
    propagation text NOT NULL
);
CREATE TABLE system_metrics (
    trial_id integer NOT NULL,
    end_time timestamptz,
    metrics jsonb,
    total_batches integer,
    trial_run_id integer NOT NULL,
    archived boolean NOT NULL,
    id integer NOT NULL,
    partition_type text NOT NULL,
    metric_group text
);
CREATE TABLE task_config_policies (
    workspace_id integer,
    workload_type workload_type NOT NULL,
    last_updated_by integer NOT NULL,
    last_updated_time timestamptz NOT NULL,
    invariant_config jsonb,
    constraints jsonb
);
CREATE TABLE task_logs (
    id bigint NOT NULL,
    task_id text NOT NULL,
    allocation_id text,
    agent_id text,
    container_id text,
    rank_id smallint,
    source text,
    stdtype text,
    level text,
    timestamp timestamp,
    log bytea NOT NULL
);
CREATE INDEX ON task_logs (task_id);
CREATE TABLE tasks (
    task_id text NOT NULL,
    task_type task_type NOT NULL,
    start_time timestamp NOT NULL,
    end_time timestamp,
    job_id text,
    log_version smallint,
    config jsonb,
    forked_from text,
    parent_id text,
    task_state task_state,
    no_pause boolean,
    log_policy_matched text
);
CREATE UNIQUE INDEX ON tasks (task_id);
CREATE TABLE templates (
    name text NOT NULL,
    config jsonb NOT NULL,
    workspace_id integer NOT NULL
);
CREATE TABLE trial_source_infos (
    trial_id integer NOT NULL,
    checkpoint_uuid uuid NOT NULL,
    model_id integer,
    model_version integer,
    trial_source_info_type trial_source_info_type NOT NULL
);
CREATE TABLE trials_v2 (
    not_trial_id integer NOT NULL,
    run_id integer,
    request_id text,
    seed integer NOT NULL
);
CREATE UNIQUE INDEX ON trials_v2 (run_id);
CREATE TABLE user_group_membership (
    user_id integer NOT NULL,
    group_id integer NOT NULL
);
CREATE TABLE user_web_settings (
    user_id integer NOT NULL,
    key text NOT NULL,
    storage_path text NOT NULL,
    value jsonb
);
CREATE TABLE users (
    id integer NOT NULL,
    username text NOT NULL,
    password_hash text,
    admin boolean,
    active boolean,
    display_name text,
    modified_at timestamptz,
    remote boolean NOT NULL,
    last_auth_at timestamptz
);
CREATE UNIQUE INDEX ON users (id);
CREATE TABLE webhook_triggers (
    id integer NOT NULL,
    trigger_type trigger_type NOT NULL,
    condition jsonb NOT NULL,
    webhook_id integer NOT NULL
);
CREATE TABLE webhooks (
    id integer NOT NULL,
    url text NOT NULL,
    webhook_type webhook_type NOT NULL,
    workspace_id integer,
    name text NOT NULL,
    mode webhook_mode NOT NULL
);
CREATE TABLE workspace_pins (
    id integer NOT NULL,
    workspace_id integer,
    user_id integer,
    created_at timestamptz NOT NULL
);
CREATE TABLE workspaces (
    id integer NOT NULL,
    name text NOT NULL,
    archived boolean NOT NULL,
    created_at timestamptz NOT NULL,
    user_id integer,
    immutable boolean,
    state workspace_state,
    error_message text,
    uid integer,
    user_ text,
    gid integer,
    group_ text,
    checkpoint_storage_config jsonb,
    default_compute_pool text,
    default_aux_pool text,
    auto_created_namespace_name text
);
