-- The history of an invented cluster in Determined's tables: import.experiments experiments, every third of them a search of import.trials trials, each with
-- import.steps reports of training and a tenth as many validations. The first experiments have every state, and what an importer meets seldom.

INSERT INTO gopg_migrations VALUES (1, 20241023165301, '2024-10-24'), (2, 20241024164947, '2024-10-25');
INSERT INTO cluster_id VALUES ('7d3c2f0e-52a4-4f0c-9d1b-0a6c5c1e9a10', '2026-01-01');

-- The password of each is that of docs/import: Determined's hash of "Secret-ada-1" with a cost that tests can wait for.
INSERT INTO users (id, username, password_hash, admin, active, display_name, modified_at, remote, last_auth_at) VALUES
    (1, 'admin', NULL, true, true, NULL, '2026-01-01', false, NULL),
    (2, 'determined', '', false, true, NULL, '2026-01-01', false, NULL),
    (3, 'ada', current_setting('import.password'), false, true, 'Ada', '2026-01-02', false, '2026-02-01'),
    (4, 'grace', current_setting('import.password'), true, true, 'Grace', '2026-01-02', false, NULL),
    (5, 'gone', current_setting('import.password'), false, false, NULL, '2026-01-02', false, NULL),
    (7, 'sso', NULL, false, true, NULL, '2026-01-02', true, NULL);
INSERT INTO agent_user_groups VALUES (1, 3, 'ada', 1003, 'staff', 50);
INSERT INTO groups VALUES (1, '1DeterminedPersonalGroup', 1), (2, '2DeterminedPersonalGroup', 2), (3, '3DeterminedPersonalGroup', 3), (4, 'vision', NULL), (5, 'empty', NULL);
INSERT INTO user_group_membership VALUES (1, 1), (2, 2), (3, 3), (3, 4), (4, 4);
INSERT INTO roles VALUES (1, 'ClusterAdmin', '2026-01-01'), (2, 'WorkspaceAdmin', '2026-01-01'), (4, 'Viewer', '2026-01-01'), (8, 'GenAIUser', '2026-01-01');
INSERT INTO role_assignment_scopes VALUES (1, NULL), (2, 2);
INSERT INTO role_assignments VALUES (1, 1, 1), (3, 2, 2), (4, 4, 1), (4, 8, 2);
INSERT INTO user_web_settings VALUES (3, 'theme', 'settings', '"dark"'), (3, 'none', 'settings', NULL);

INSERT INTO workspaces (id, name, archived, created_at, user_id, immutable, state, uid, user_, gid, group_, checkpoint_storage_config, default_compute_pool) VALUES
    (1, 'Uncategorized', false, '2026-01-01', 1, true, 'UNSPECIFIED', NULL, NULL, NULL, NULL, NULL, NULL),
    (2, 'Vision', false, '2026-01-03', 3, false, 'UNSPECIFIED', 1003, 'ada', NULL, NULL, '{"type": "s3", "bucket": "vision", "prefix": "runs"}', 'gpu'),
    (3, 'Old things', true, '2026-01-03', NULL, NULL, 'DELETE_FAILED', NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO workspace_pins VALUES (1, 2, 3, '2026-01-04');
INSERT INTO projects (id, name, description, archived, created_at, notes, workspace_id, user_id, immutable, state, key, max_local_id) VALUES
    (1, 'Uncategorized', NULL, false, '2026-01-01', '[]', 1, 1, true, 'UNSPECIFIED', 'UNC0A', 0),
    (2, 'faces', 'about faces', false, '2026-01-03', '[{"name": "Plan", "contents": "# Plan"}]', 2, 3, false, 'UNSPECIFIED', 'FACES', 0),
    (3, 'ends', NULL, true, '2026-01-03', NULL, 3, NULL, NULL, NULL, 'ENDSA', 0);
INSERT INTO templates VALUES ('gpu-defaults', '{"resources": {"slots_per_trial": 2}}', 2);
INSERT INTO rp_workspace_bindings VALUES (2, 'gpu', true);
INSERT INTO task_config_policies VALUES
    (2, 'EXPERIMENT', 4, '2026-02-01', '{"max_restarts": 2}', '{"resources": {"max_slots": 8}}'), (NULL, 'NTSC', 4, '2026-02-01', NULL, '{"priority_limit": 10}'),
    (3, 'EXPERIMENT', 4, '2026-02-01', '{"resources": {"slots_per_trial": -4}}', NULL);
INSERT INTO storage_backend_shared_fs VALUES (1, '/data', NULL, NULL, NULL, 'checkpoints', 'rprivate');
INSERT INTO storage_backend_s3 VALUES (1, 'ours', NULL, NULL, 'https://s3.example.com', 'runs');
INSERT INTO storage_backend_gcs VALUES (1, 'theirs', NULL);
INSERT INTO storage_backend_azure VALUES (1, 'blobs', NULL, 'https://x.blob.core.windows.net', NULL);
INSERT INTO storage_backend_directory VALUES (1, '/ckpt');
INSERT INTO storage_backend (id, shared_fs_id, s3_id, gcs_id, azure_id, directory_id) VALUES (1, 1, NULL, NULL, NULL, NULL), (2, NULL, 1, NULL, NULL, NULL), (3, NULL, NULL, 1, NULL, NULL), (4, NULL, NULL, NULL, 1, NULL), (5, NULL, NULL, NULL, NULL, 1);
INSERT INTO webhooks VALUES (1, 'https://chat.example.com/hook', 'SLACK', NULL, 'done', 'WORKSPACE'), (2, 'https://lines.example.com/hook', 'DEFAULT', 2, 'lines', 'SPECIFIC');
INSERT INTO webhook_triggers VALUES (1, 'EXPERIMENT_STATE_CHANGE', '{"state": "COMPLETED"}', 1), (2, 'TASK_LOG', '{"regex": "out of memory"}', 2), (3, 'CUSTOM', '{}', 2);

-- Experiment n is a search where n is a multiple of three; the first twelve have the twelve states.
CREATE TEMP TABLE plan AS
SELECT n, n % 3 = 0 AS search, CASE WHEN n % 3 = 0 THEN current_setting('import.trials')::int ELSE 1 END AS trials,
    CASE WHEN n <= 12 THEN (enum_range(NULL::experiment_state))[n] WHEN n % 7 = 0 THEN 'ERROR' WHEN n % 11 = 0 THEN 'CANCELED' ELSE 'COMPLETED' END::experiment_state AS state,
    timestamptz '2026-02-01' + n * interval '10 minutes' AS began
FROM generate_series(1, current_setting('import.experiments')::int) n;
INSERT INTO jobs SELECT md5('job' || n)::uuid::text, 'EXPERIMENT', 1 + n % 4, '0' FROM plan;
INSERT INTO experiments (id, state, config, model_definition, start_time, end_time, archived, parent_id, owner_id, progress, original_config, notes, job_id, project_id, checkpoint_size, checkpoint_count,
    best_trial_id, unmanaged, external_experiment_id)
SELECT n, state, jsonb_build_object('name', 'experiment ' || n, 'description', CASE WHEN n % 2 = 0 THEN 'described' END, 'labels', jsonb_build_array('a', 'label-' || n % 5),
        'entrypoint', 'python3 train.py', 'max_restarts', 5, 'reproducibility', jsonb_build_object('experiment_seed', n),
        'searcher', jsonb_build_object('name', CASE WHEN search THEN 'random' ELSE 'single' END, 'metric', 'loss', 'smaller_is_better', n % 5 <> 0, 'max_length', jsonb_build_object('batches', 100))
            || CASE WHEN search THEN jsonb_build_object('max_trials', trials) ELSE '{}' END,
        'resources', jsonb_build_object('slots_per_trial', n % 9, 'priority', CASE WHEN n = 5 THEN 120 ELSE 42 END, 'resource_pool', CASE WHEN n % 2 = 0 THEN 'gpu' ELSE '' END),
        'checkpoint_storage', jsonb_build_object('type', 'shared_fs', 'host_path', '/data', 'storage_path', 'checkpoints', 'save_trial_best', 1, 'save_trial_latest', 1, 'save_experiment_best', 0),
        'hyperparameters', jsonb_build_object('lr', jsonb_build_object('type', 'double', 'minval', 0, 'maxval', 1), 'fixed', n))
        || CASE n WHEN 13 THEN '{"searcher": {"name": "adaptive_simple", "metric": "loss", "max_trials": 3, "max_length": {"batches": 10}}}' WHEN 14 THEN '{"internal": {"native": null}, "never_heard_of": 1}' ELSE '{}' END::jsonb,
    CASE WHEN n % 10 = 9 THEN '' ELSE ('code ' || n % 50)::bytea END, began, CASE WHEN state IN ('COMPLETED', 'ERROR', 'CANCELED', 'DELETE_FAILED') THEN began + interval '1 hour' END,
    n % 13 = 0, CASE WHEN n % 17 = 0 THEN n - 1 END, 1 + n % 4, CASE WHEN state = 'COMPLETED' THEN 1 END, CASE WHEN n % 4 <> 3 THEN 'name: experiment ' || n END, CASE WHEN n % 6 = 0 THEN '# Notes' ELSE '' END,
    md5('job' || n)::uuid::text, 1 + n % 3, 0, 0, NULL, n % 19 = 0, CASE WHEN n % 19 = 0 THEN 'external-' || n END
FROM plan;

CREATE TEMP TABLE trial_plan AS
SELECT row_number() OVER (ORDER BY p.n, k) AS id, p.*, k, p.n || '.' || md5('trial' || p.n || '-' || k)::uuid AS task FROM plan p, generate_series(1, p.trials) k;
INSERT INTO tasks (task_id, task_type, start_time, end_time, job_id, log_version)
SELECT task, 'TRIAL', began, CASE WHEN id % 6 <> 0 THEN began + interval '1 hour' END, md5('job' || n)::uuid::text, 1 FROM trial_plan;
-- Every tenth trial was continued by a second task.
INSERT INTO tasks (task_id, task_type, start_time, end_time, job_id, log_version) SELECT task || '-1', 'TRIAL', began + interval '2 hours', began + interval '3 hours', md5('job' || n)::uuid::text, 1 FROM trial_plan WHERE id % 10 = 0;
INSERT INTO runs (id, experiment_id, state, start_time, end_time, hparams, runner_state, restart_id, restarts, checkpoint_size, checkpoint_count, total_batches, summary_metrics, project_id, archived, local_id, external_run_id,
    log_retention_days, log_policy_matched)
SELECT id, n, CASE WHEN n <= 10 THEN (enum_range(NULL::trial_state))[n] ELSE 'COMPLETED' END, began, CASE WHEN id % 6 <> 0 THEN began + interval '1 hour' END, jsonb_build_object('lr', (id % 100) / 100.0, 'fixed', n),
    '', CASE WHEN id % 4 = 0 THEN 2 ELSE 1 END, CASE WHEN id % 4 = 0 THEN 1 ELSE 0 END, 0, 0, current_setting('import.steps')::int, '{}', 1 + n % 3, id % 23 = 0, CASE WHEN id % 29 <> 0 THEN id + 5 END,
    CASE WHEN n % 19 = 0 THEN 'run-' || id END, CASE WHEN id % 31 = 0 THEN 7 WHEN id % 31 = 1 THEN -1 END, CASE WHEN id % 37 = 0 THEN 'CUDA OOM' END
FROM trial_plan;
INSERT INTO trials_v2 SELECT id, id, md5('trial' || id)::uuid, id * 7 FROM trial_plan;
INSERT INTO run_id_task_id SELECT id, task FROM trial_plan UNION ALL SELECT id, task || '-1' FROM trial_plan WHERE id % 10 = 0;
INSERT INTO runs_metadata SELECT id, jsonb_build_object('text', 'a', 'number', id, 'flag', true, 'nothing', NULL, 'list', jsonb_build_array(1, 'b'), 'inner', jsonb_build_object('when', '2026-01-02T03:04:05Z')) FROM trial_plan WHERE id % 3 = 0;
INSERT INTO local_id_redirect SELECT id, 1 + n % 3, 'FACES', id + 5 FROM trial_plan WHERE id % 29 <> 0;

INSERT INTO allocations (task_id, allocation_id, resource_pool, start_time, end_time, slots, state, is_ready, ports, exit_reason, exit_error, status_code)
SELECT t.task_id, t.task_id || '.' || a, 'gpu', CASE WHEN p.id % 40 <> 0 THEN t.start_time + a * interval '1 minute' END, CASE WHEN p.id % 6 <> 0 THEN t.start_time + interval '30 minutes' END, p.n % 9, (enum_range(NULL::allocation_state))[1 + p.id % 8],
    true, '{}', CASE WHEN a = 1 THEN NULL ELSE 'restarted' END, CASE WHEN p.id % 7 = 0 THEN 'exit status 1' END, CASE WHEN p.id % 7 = 0 THEN 1 END
FROM trial_plan p JOIN run_id_task_id r ON r.run_id = p.id JOIN tasks t ON t.task_id = r.task_id, generate_series(1, 2) a WHERE a = 1 OR p.id % 4 = 0;
INSERT INTO jobs VALUES ('b7a3a6b0-0000-4000-8000-000000000001', 'NOTEBOOK', 3, '0');
INSERT INTO tasks (task_id, task_type, start_time, end_time, job_id, log_version) VALUES ('b7a3a6b0-0000-4000-8000-00000000000a', 'NOTEBOOK', '2026-03-01 10:00', '2026-03-01 12:00', 'b7a3a6b0-0000-4000-8000-000000000001', 1);
INSERT INTO allocations (task_id, allocation_id, resource_pool, start_time, end_time, slots, state, ports) VALUES
    ('b7a3a6b0-0000-4000-8000-00000000000a', 'b7a3a6b0-0000-4000-8000-00000000000a.1', 'gpu', '2026-03-01 10:00', '2026-03-01 12:00', 4, 'TERMINATED', '{}');
INSERT INTO allocation_workspace_info VALUES ('b7a3a6b0-0000-4000-8000-00000000000a.1', 2, 'Vision', NULL);

-- A quarter of the trials failed after half of their steps and began again from a third: what the first run reported after it is archived.
INSERT INTO raw_steps
SELECT p.id, p.began + s * interval '1 second', jsonb_build_object('avg_metrics', jsonb_build_object('loss', 1.0 / s, 'accuracy', 1 - 1.0 / (s + 1), 'note', CASE WHEN s % 50 = 0 THEN '"NaN"'::jsonb ELSE to_jsonb(s) END), 'batch_metrics', NULL),
    s, CASE WHEN p.id % 4 = 0 AND s > x.third THEN 2 ELSE 1 END, false, row_number() OVER (), 'training', 'TRAINING'
FROM trial_plan p CROSS JOIN (SELECT current_setting('import.steps')::int AS steps, current_setting('import.steps')::int / 3 AS third, current_setting('import.steps')::int / 2 AS half) x, generate_series(1, x.steps) s;
INSERT INTO raw_steps
SELECT p.id, p.began + s * interval '1 second', '{"avg_metrics": {"loss": 3}, "batch_metrics": [{"loss": 1}, {"loss": 5}]}', s, 1, true, 2000000000 + row_number() OVER (), 'training', 'TRAINING'
FROM trial_plan p CROSS JOIN (SELECT current_setting('import.steps')::int / 3 AS third, current_setting('import.steps')::int / 2 AS half) x, generate_series(x.third + 1, x.half) s WHERE p.id % 4 = 0;
INSERT INTO raw_validations
SELECT row_number() OVER (), p.id, CASE WHEN s % 40 <> 0 THEN p.began + s * interval '1 second' END, CASE WHEN s % 60 = 0 THEN NULL ELSE jsonb_build_object('validation_metrics', jsonb_build_object('loss', (p.id % 100 + 1.0) / s)) END,
    s, 1, false, 'validation', 'VALIDATION'
FROM trial_plan p, generate_series(10, current_setting('import.steps')::int, 10) s;
INSERT INTO generic_metrics
SELECT p.id, p.began, '{"avg_metrics": {"f1": 0.5, "nested": {"a": 1}}, "batch_metrics": null}', 10, 1, false, 1000000000 + row_number() OVER (), 'inference', 'GENERIC' FROM trial_plan p WHERE id % 5 = 0;
-- Two nodes report about themselves at the same time.
INSERT INTO system_metrics
SELECT p.id, p.began + s * interval '1 second', jsonb_build_object('avg_metrics', jsonb_build_object('node-' || node, jsonb_build_object('cpu_util_simple', s)), 'batch_metrics', NULL), NULL, 1, false, 1500000000 + row_number() OVER (), 'PROFILING', 'cpu'
FROM trial_plan p, generate_series(1, 3) s, generate_series(1, 2) node WHERE p.id % 8 = 0;
UPDATE runs r SET best_validation_id = v.best, latest_validation_id = v.latest, searcher_metric_value = v.loss, searcher_metric_value_signed = v.loss
FROM (SELECT trial_id, max(id) AS latest, (array_agg(id ORDER BY (metrics #>> '{validation_metrics,loss}')::float8 NULLS LAST))[1] AS best, min((metrics #>> '{validation_metrics,loss}')::float8) AS loss FROM raw_validations GROUP BY 1) v
WHERE v.trial_id = r.id;
-- Every eleventh trial is older than the summaries of Determined.
UPDATE runs r SET summary_metrics_timestamp = r.end_time, summary_metrics = jsonb_build_object('avg_metrics', jsonb_build_object('loss', jsonb_build_object('count', current_setting('import.steps')::int, 'sum', 1, 'min', 0, 'max', 1, 'mean', 0.1, 'last', 0.01, 'type', 'number')))
WHERE r.id % 11 <> 0;
UPDATE experiments e SET best_trial_id = (SELECT r.id FROM runs r WHERE r.experiment_id = e.id ORDER BY r.searcher_metric_value, r.id LIMIT 1);

INSERT INTO checkpoints_v2
SELECT 2 * p.id + c, md5('checkpoint' || p.id || '-' || c)::uuid, p.task, CASE WHEN p.id % 3 = 0 THEN p.task || '.1' END, p.began + c * interval '5 minutes', (enum_range(NULL::checkpoint_state))[CASE WHEN p.id <= 30 THEN 1 + p.id % 5 ELSE 2 END],
    CASE WHEN p.id % 9 = 0 THEN NULL ELSE '{"weights": 1000, "metadata.json": 24}' END::jsonb, CASE WHEN p.id % 15 = 0 THEN NULL ELSE jsonb_build_object('steps_completed', c * 10, 'framework', 'torch') END, CASE WHEN p.id % 9 = 0 THEN 0 ELSE 1024 END,
    CASE WHEN p.id % 7 = 0 THEN 1 + p.id % 5 END
FROM trial_plan p, generate_series(1, 2) c;
INSERT INTO run_checkpoints SELECT p.id, md5('checkpoint' || p.id || '-' || c)::uuid FROM trial_plan p, generate_series(1, 2) c;
UPDATE runs SET warm_start_checkpoint_id = 3 WHERE id % 18 = 0;
INSERT INTO models VALUES ('net', 'a net', '2026-04-01', '2026-04-02', '{"k": "v"}', 1, '{prod}', 3, false, 'notes', 2, 1), ('bare', NULL, '2026-04-01', NULL, NULL, 2, NULL, 1, true, NULL, 1, 2);
INSERT INTO model_versions VALUES (1, md5('checkpoint1-1')::uuid, '2026-04-01', NULL, NULL, 1, 1, NULL, NULL, NULL, NULL, NULL, 3), (3, md5('checkpoint2-1')::uuid, '2026-04-02', '2026-04-03', '{"a": 1}', 1, 2, 'third', 'ready', 3, '{b}', '# n', 4);
INSERT INTO trial_source_infos VALUES (2, md5('checkpoint1-1')::uuid, 1, 1, 'TRIAL_SOURCE_INFO_TYPE_FINE_TUNING'), (3, md5('checkpoint2-1')::uuid, NULL, NULL, 'TRIAL_SOURCE_INFO_TYPE_INFERENCE');
INSERT INTO task_logs (id, task_id, allocation_id, agent_id, rank_id, source, stdtype, level, timestamp, log)
SELECT row_number() OVER (), p.task, p.task || '.1', 'agent-1', s % 2, NULL, CASE WHEN s % 3 = 0 THEN 'stderr' ELSE 'stdout' END, CASE WHEN s % 4 = 0 THEN 'ERROR' END, p.began + s * interval '1 second', convert_to('line ' || s || ' of trial ' || p.id, 'UTF8')
FROM trial_plan p, generate_series(1, current_setting('import.lines')::int) s WHERE p.id % 2 = 0;
