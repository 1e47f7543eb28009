-- Rows of storages are never deleted, because a program that runs may hold their numbers. So each counts for the user whose trial named it
-- first, and a trial names a limited number of new ones.
ALTER TABLE storage_backends ADD COLUMN owner_id integer REFERENCES users;
CREATE INDEX storage_backends_owner ON storage_backends (owner_id) WHERE owner_id IS NOT NULL;
ALTER TABLE trials ADD COLUMN storages smallint NOT NULL DEFAULT 0;
