-- Pools that only some workspaces may use; a pool without a row is open to all. The API writes
-- them; the loop reads them.
CREATE TABLE pool_bindings (
    pool         text NOT NULL,
    workspace_id int NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    bound_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (pool, workspace_id)
);
CREATE INDEX pool_bindings_workspace ON pool_bindings (workspace_id);
