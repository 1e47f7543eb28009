-- Access tokens: sessions that programs keep. expires_at decides whether one is valid, as of every
-- session; a revoked one has expired at that moment, and token_expiry still says what its maker asked for.
ALTER TABLE sessions
    ADD COLUMN is_token     boolean NOT NULL DEFAULT false,
    ADD COLUMN description  text    NOT NULL DEFAULT '' CHECK (char_length(description) <= 200),
    ADD COLUMN read_only    boolean NOT NULL DEFAULT false,
    ADD COLUMN token_expiry timestamptz,  -- NULL: never
    ADD COLUMN revoked_at   timestamptz,
    ADD COLUMN last_used_at timestamptz;  -- of a token, to the hour
CREATE INDEX sessions_tokens ON sessions (user_id) WHERE is_token;
