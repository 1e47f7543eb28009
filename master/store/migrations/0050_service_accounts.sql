-- Users that are programs: they have no password and no identity at a provider, and sign in with access
-- tokens alone. The API writes the column when it creates the user, and it never changes.
ALTER TABLE users ADD COLUMN service boolean NOT NULL DEFAULT false;
ALTER TABLE users ADD CONSTRAINT users_service CHECK (NOT service OR password_hash = '' AND NOT remote AND NOT admin);
