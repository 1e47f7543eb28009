-- A configuration may have a megabyte, which PostgreSQL unpacks whole for each field that a query reads of it. So what the control loop reads of
-- all live tasks in each cycle, and what lists and the proxy read, has columns beside it.
ALTER TABLE tasks
    ADD COLUMN nomad jsonb GENERATED ALWAYS AS (NULLIF(config #> '{environment,nomad}', 'null')) STORED,
    ADD COLUMN gpu jsonb GENERATED ALWAYS AS (NULLIF(config #> '{resources,gpu}', 'null')) STORED,
    ADD COLUMN several boolean NOT NULL GENERATED ALWAYS AS (coalesce(config #>> '{resources,is_single_node}' = 'false', false)) STORED,
    ADD COLUMN mounts_secrets boolean NOT NULL GENERATED ALWAYS AS (coalesce(jsonb_typeof(config #> '{environment,secrets}') = 'array' AND config #> '{environment,secrets}' <> '[]', false)) STORED,
    ADD COLUMN proxy_ports jsonb GENERATED ALWAYS AS (config #> '{environment,proxy_ports}') STORED,
    ADD COLUMN idle_timeout text GENERATED ALWAYS AS (config ->> 'idle_timeout') STORED;
ALTER TABLE experiments
    ADD COLUMN proxy_ports jsonb GENERATED ALWAYS AS (config #> '{environment,proxy_ports}') STORED,
    ADD COLUMN max_restarts jsonb GENERATED ALWAYS AS (config -> 'max_restarts') STORED,
    ADD COLUMN preemption_timeout jsonb GENERATED ALWAYS AS (config -> 'preemption_timeout') STORED,
    ADD COLUMN storage_type text GENERATED ALWAYS AS (config #>> '{checkpoint_storage,type}') STORED;
-- Of the matches that ask for something, the loop reads in each cycle the first few of a trial on a node. A program reports as many as it likes.
ALTER TABLE log_matches ADD COLUMN counts boolean NOT NULL DEFAULT true;
DROP INDEX log_matches_asking;
CREATE INDEX log_matches_asking ON log_matches (task_id, node_id, action) WHERE action <> '' AND counts;
