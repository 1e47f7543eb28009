-- What a member's gateway proves itself by: the SHA-256 of its certificate, in
-- hexadecimal digits, as its runner reported it with the claim. '' for a runner, or a
-- master, of the release before. The API's.
ALTER TABLE members ADD COLUMN gateway_certificate text NOT NULL DEFAULT '';
