-- The audit trail: who did what to which object, from where, with which credential, and with
-- which result. A master inserts a row before the call begins, so nothing happens without a row,
-- and completes the row when the call has ended; a row without an end belongs to a call whose
-- master ended first. Only the master that inserted a row changes it. The rows name users and
-- objects without foreign keys, because they outlive them.
CREATE TABLE audit (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at           timestamptz NOT NULL DEFAULT now(),
    ended_at     timestamptz,
    last_at      timestamptz,               -- of the last repetition
    times        int NOT NULL DEFAULT 1,    -- reads and rejected calls within a minute are one row
    user_id      int,                       -- NULL: nobody signed in
    username     text NOT NULL,
    credential   text NOT NULL,             -- session 12, access token 7, task 5.1, or none
    address      text NOT NULL,
    method       text NOT NULL,
    path         text NOT NULL,             -- as the table of endpoints has it
    verb         text NOT NULL,
    kind         text NOT NULL,
    object       text NOT NULL DEFAULT '',  -- what the path names, or the id of what was created
    workspace_id int,
    names        jsonb,                     -- what the body names
    status       int,                       -- HTTP
    error        text NOT NULL DEFAULT ''
);
CREATE INDEX audit_at ON audit (at);
CREATE INDEX audit_user ON audit (user_id, id);
CREATE INDEX audit_object ON audit (kind, object, id);
