-- Where groups and memberships come from: '' for those that administrators made here, 'oidc:' and the
-- name of an identity provider for those that a sign-in made. The API writes both.
ALTER TABLE groups ADD COLUMN origin text NOT NULL DEFAULT '' CHECK (char_length(origin) <= 100);
ALTER TABLE group_members ADD COLUMN origin text NOT NULL DEFAULT '' CHECK (char_length(origin) <= 100);
