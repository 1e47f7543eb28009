-- Reservations hold slots of a pool for a workspace or a user for a time; with nodes, they take these nodes out of use: a maintenance. The API
-- writes these rows, and the loop reads those that have not ended.
CREATE TABLE reservations (
    id           int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    pool         text NOT NULL,
    workspace_id int REFERENCES workspaces ON DELETE CASCADE, -- whose tasks may use the slots
    user_id      int REFERENCES users ON DELETE CASCADE,      -- …, of which user
    slots        int NOT NULL CHECK (slots >= 0),
    nodes        text[] NOT NULL DEFAULT '{}', -- ids, of a maintenance
    begins_at    timestamptz NOT NULL,
    ends_at      timestamptz NOT NULL CHECK (ends_at > begins_at),
    note         text NOT NULL DEFAULT '' CHECK (length(note) <= 1000),
    creator_id   int REFERENCES users ON DELETE SET NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    cancelled_at timestamptz,
    CHECK (slots > 0 AND nodes = '{}' AND (workspace_id IS NOT NULL OR user_id IS NOT NULL)
        OR slots = 0 AND nodes <> '{}' AND workspace_id IS NULL AND user_id IS NULL)
);
CREATE INDEX reservations_live ON reservations (ends_at) WHERE cancelled_at IS NULL;
CREATE INDEX reservations_workspace ON reservations (workspace_id);
CREATE INDEX reservations_user ON reservations (user_id);
CREATE INDEX reservations_creator ON reservations (creator_id);

-- When running attempts are expected to end, by their jobs.
ALTER TABLE forecasts ADD COLUMN ends jsonb NOT NULL DEFAULT '{}';
