-- Accounts that a SCIM client manages. The API writes the rows when the client does.
CREATE TABLE scim_users (
    user_id     int PRIMARY KEY REFERENCES users ON DELETE CASCADE,
    external_id text NOT NULL DEFAULT '' CHECK (char_length(external_id) <= 256),
    attributes  jsonb NOT NULL,                 -- names and addresses as the client sent them
    off         boolean NOT NULL DEFAULT false, -- the client deactivated the account, so it may activate it again
    deleted_at  timestamptz,                    -- the client deleted it: the account stays, deactivated
    created_at  timestamptz NOT NULL DEFAULT now(),
    modified_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX scim_users_external ON scim_users (external_id) WHERE external_id <> '';

-- Of groups that a SCIM client made (their origin is scim); the API writes both when the client does.
ALTER TABLE groups
    ADD COLUMN external_id text NOT NULL DEFAULT '' CHECK (char_length(external_id) <= 256),
    ADD COLUMN modified_at timestamptz NOT NULL DEFAULT now();
