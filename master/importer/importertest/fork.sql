-- Facts of what the public fork of Determined adds to its schema: the names, types and constraints of its tables, migration by migration up to 0.42, and rows that use all of it.
-- A line that begins with "-- migration" ends a part.
CREATE TABLE dynamic_resource_pools (
    cluster_name text NOT NULL,
    pool_name text NOT NULL UNIQUE,
    config_version integer NOT NULL,
    idempotency_key text NOT NULL,
    config jsonb NOT NULL,
    config_hash text NOT NULL,
    state text NOT NULL CHECK (state = ANY ('{Pending,Ready,Failed}'::text[])),
    error text,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (cluster_name, idempotency_key)
);
INSERT INTO dynamic_resource_pools (cluster_name, pool_name, config_version, idempotency_key, config, config_hash, state, error) VALUES
    ('default', 'late', 1, 'a', '{"pool_name": "late", "task_container_defaults": {"registry_auth": {"password": "not-to-be-shown"}}}', 'x', 'Ready', NULL),
    ('default', 'broken', 1, 'b', '{"pool_name": "broken"}', 'y', 'Failed', 'no such scheduler');
-- migration 20260925000000
ALTER TABLE dynamic_resource_pools ADD spec jsonb, ADD spec_version integer, ADD spec_hash text, ADD revision bigint NOT NULL DEFAULT 1,
    ADD CHECK (num_nulls(spec, spec_version, spec_hash) IN (0, 3));
INSERT INTO dynamic_resource_pools (cluster_name, pool_name, config_version, idempotency_key, config, config_hash, state, spec, spec_version, spec_hash, revision) VALUES
    ('default', 'specified', 1, 'c', '{"pool_name": "specified"}', 'z', 'Pending', '{"pool_name": "specified"}', 1, 'z', 4);
-- migration 20261005000000
CREATE TABLE resource_pool_restrictions (
    pool_name text PRIMARY KEY CHECK (pool_name <> ''),
    restricted_by integer REFERENCES users (id) ON DELETE SET NULL,
    restricted_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE resource_pool_grants (
    pool_name text NOT NULL CHECK (pool_name <> ''),
    user_id integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    granted_by integer REFERENCES users (id) ON DELETE SET NULL,
    granted_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (pool_name, user_id)
);
INSERT INTO resource_pool_restrictions (pool_name, restricted_by) VALUES ('a100', 1), ('h100', NULL);
INSERT INTO resource_pool_grants (pool_name, user_id, granted_by) VALUES ('a100', 3, 1), ('a100', 4, NULL), ('free', 3, 1);
-- migration 20261006061744
