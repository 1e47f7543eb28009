-- Config policies: what administrators lay over the configurations of users, and limits. The API
-- writes them.
CREATE TABLE config_policies (
    id           int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace_id int REFERENCES workspaces ON DELETE CASCADE, -- NULL: of the cluster
    workload     text NOT NULL CHECK (workload IN ('EXPERIMENT', 'NTSC')),
    source       text NOT NULL,                               -- YAML or JSON, as it was written
    set_by       int REFERENCES users ON DELETE SET NULL,
    set_at       timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX config_policies_scope ON config_policies (coalesce(workspace_id, 0), workload);
