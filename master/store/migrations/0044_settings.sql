-- What administrators changed in the configuration of the running masters. A master applies a setting
-- that is newer than its own start, so a master that starts has what its configuration says.
CREATE TABLE settings (
    name    text        PRIMARY KEY CHECK (name IN ('log.level', 'log.color')),
    value   text        NOT NULL CHECK (char_length(value) BETWEEN 1 AND 100),
    set_at  timestamptz NOT NULL DEFAULT now(),
    user_id integer     REFERENCES users (id) ON DELETE SET NULL
); -- API
