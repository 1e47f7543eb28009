-- What lets a browser in to one task: a ticket, good once and for a minute, and
-- the cookie that it is traded for. Both end with the session that asked.
CREATE TABLE passes (
    hash       bytea PRIMARY KEY,             -- sha256; the pass itself is nowhere
    kind       text NOT NULL CHECK (kind IN ('ticket', 'cookie')),
    task_id    text NOT NULL REFERENCES tasks ON DELETE CASCADE,
    session_id bigint NOT NULL REFERENCES sessions ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,                   -- of a ticket; a cookie lives as its session
    CHECK ((kind = 'ticket') = (expires_at IS NOT NULL))
);
CREATE INDEX passes_session ON passes (session_id);
CREATE INDEX passes_task ON passes (task_id);
