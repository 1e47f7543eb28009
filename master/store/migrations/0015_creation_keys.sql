-- A client that lost the answer to a creation repeats it with the same key, which it chose
-- itself: the row that the first request made is then the answer. The API's.
ALTER TABLE experiments ADD COLUMN creation_key text CHECK (length(creation_key) BETWEEN 1 AND 200);
ALTER TABLE tasks ADD COLUMN creation_key text CHECK (length(creation_key) BETWEEN 1 AND 200);
CREATE UNIQUE INDEX experiments_creation_key ON experiments (owner_id, creation_key) WHERE creation_key IS NOT NULL;
CREATE UNIQUE INDEX tasks_creation_key ON tasks (owner_id, creation_key) WHERE creation_key IS NOT NULL;
