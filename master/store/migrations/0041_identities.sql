-- Accounts at identity providers that sign in as users here. The API writes them at the first
-- sign-in; the issuer and the subject together never change and never name another person.
CREATE TABLE identities (
    issuer     text NOT NULL,
    subject    text NOT NULL,
    user_id    int NOT NULL REFERENCES users ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (issuer, subject),
    UNIQUE (user_id, issuer)
);
