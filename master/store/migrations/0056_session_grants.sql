-- Tokens with which masters ask identity providers about users who are signed in. The API stores them when the
-- session begins; the master that has claimed the user's identity replaces and deletes them.
CREATE TABLE session_grants (
    session_id bigint PRIMARY KEY REFERENCES sessions ON DELETE CASCADE,
    provider   text NOT NULL CHECK (char_length(provider) <= 64),        -- its name in the configuration
    tokens     bytea NOT NULL CHECK (octet_length(tokens) <= 65536),     -- encrypted
    checked_at timestamptz NOT NULL DEFAULT now()
);
-- When a master asks about a user next, and what the last answer was. A sign-in writes these columns, and the
-- master that has claimed the row: a claim moves due_at and increments checks.
ALTER TABLE identities
    ADD COLUMN known  bytea,              -- hash of the groups and the mark of admins that were applied last
    ADD COLUMN due_at timestamptz,        -- NULL: never
    ADD COLUMN checks bigint NOT NULL DEFAULT 0;
CREATE INDEX identities_due ON identities (due_at);
