-- Quotas: how many slots a workspace, a project or a user may hold at the same time, or how many
-- slot-hours they may use in a period. The API writes them; the leader and the API measure what was
-- used.
CREATE TABLE quotas (
    id           int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace_id int REFERENCES workspaces ON DELETE CASCADE, -- with user_id: of the user in this workspace
    project_id   int REFERENCES projects ON DELETE CASCADE,
    user_id      int REFERENCES users ON DELETE CASCADE,
    pool         text NOT NULL DEFAULT '',                    -- '': all pools
    measure      text NOT NULL CHECK (measure IN ('slots', 'slot_hours')),
    period       text NOT NULL CHECK (CASE measure WHEN 'slots' THEN period = '' ELSE period IN ('day', 'week', 'month', 'total') END),
    soft         int CHECK (soft >= 0),
    hard         int CHECK (hard >= 0),
    set_at       timestamptz NOT NULL DEFAULT now(),
    created_at   timestamptz NOT NULL DEFAULT now(),          -- from when on period total counts
    used_seconds float8 NOT NULL DEFAULT 0,                   -- slot-seconds from used_since to measured_at
    used_since   timestamptz,
    measured_at  timestamptz,
    CHECK (soft IS NOT NULL OR hard IS NOT NULL),
    CHECK (soft <= hard),
    CHECK (CASE WHEN project_id IS NULL THEN workspace_id IS NOT NULL OR user_id IS NOT NULL ELSE workspace_id IS NULL AND user_id IS NULL END)
);
CREATE UNIQUE INDEX quotas_key ON quotas (coalesce(workspace_id, 0), coalesce(project_id, 0), coalesce(user_id, 0), pool, measure, period);
CREATE INDEX quotas_project ON quotas (project_id) WHERE project_id IS NOT NULL;
CREATE INDEX quotas_user ON quotas (user_id) WHERE user_id IS NOT NULL;

-- The project of an experiment, which keeps its number when its name changes. The loop writes it, as
-- the rest of the row.
ALTER TABLE usage ADD COLUMN project_id int;
UPDATE usage u SET project_id = e.project_id FROM experiments e WHERE e.id = u.experiment_id;
CREATE INDEX usage_workspace ON usage (workspace_id, coalesce(ended_at, 'infinity'::timestamptz));
CREATE INDEX usage_project ON usage (project_id, coalesce(ended_at, 'infinity'::timestamptz));
CREATE INDEX usage_owner ON usage (owner_id, coalesce(ended_at, 'infinity'::timestamptz));
