-- Where sessions come from, for the people who list their own. The API writes these columns when the
-- session begins. last_used_at is of sessions too now, to the hour.
ALTER TABLE sessions
    ADD COLUMN address text NOT NULL DEFAULT '' CHECK (char_length(address) <= 64),
    ADD COLUMN agent   text NOT NULL DEFAULT '' CHECK (char_length(agent) <= 200),  -- the program, as it names itself
    ADD COLUMN issuer  text CHECK (char_length(issuer) <= 500),                     -- of the identity provider; NULL: a password
    ADD COLUMN sid     text CHECK (char_length(sid) <= 200);                        -- of the session at the provider; NULL: unknown
CREATE INDEX sessions_issuer ON sessions (issuer, sid) WHERE issuer IS NOT NULL;

-- Sign-outs that identity providers have asked for, so that nobody repeats one. The API writes them,
-- and deletes those that are too old to be accepted again.
CREATE TABLE sign_outs (
    issuer     text NOT NULL,
    jti        text NOT NULL CHECK (char_length(jti) <= 200),
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (issuer, jti)
);
CREATE INDEX sign_outs_expire ON sign_outs (expires_at);
