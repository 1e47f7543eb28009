-- What lists need of the configurations, which PostgreSQL would otherwise read for each row.
ALTER TABLE experiments
    -- the bytes of what a list has of an experiment and a user has written, without the labels; pages are limited by it
    ADD COLUMN text_bytes integer NOT NULL GENERATED ALWAYS AS (
        octet_length(name) + octet_length(description) + octet_length(notes) + octet_length(original_config) + octet_length(config::text)) STORED,
    -- for how long the configuration says that logs are kept
    ADD COLUMN config_log_days integer GENERATED ALWAYS AS (
        CASE jsonb_typeof(config #> '{retention_policy,log_retention_days}') WHEN 'number' THEN (config #> '{retention_policy,log_retention_days}')::integer END) STORED;
