-- What arrives from outside: code in pieces, and wrong passwords.

-- The code of a context, in pieces: neither a master nor the database ever holds
-- the whole in memory.
CREATE TABLE context_parts (
    hash bytea NOT NULL REFERENCES contexts ON DELETE CASCADE,
    n    int   NOT NULL CHECK (n >= 0),
    data bytea NOT NULL CHECK (octet_length(data) > 0),
    PRIMARY KEY (hash, n)
);
ALTER TABLE context_parts ALTER COLUMN data SET STORAGE EXTERNAL;
INSERT INTO context_parts (hash, n, data)
    SELECT c.hash, s.n, substring(c.tgz FROM s.n * 1048576 + 1 FOR 1048576)
    FROM contexts c, generate_series(0, (octet_length(c.tgz) - 1) / 1048576) AS s(n)
    WHERE octet_length(c.tgz) > 0;
-- The column stays for masters of the previous release, which serve from it what was there before.
ALTER TABLE contexts ALTER COLUMN tgz DROP NOT NULL;

-- Sign-ins that are being tried or have failed, by what they are counted for: an
-- address, or an address and a name.
CREATE TABLE login_tries (
    key   text PRIMARY KEY,
    tries int NOT NULL,
    since timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX login_tries_since ON login_tries (since);
