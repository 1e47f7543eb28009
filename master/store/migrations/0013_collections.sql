-- Removing the files of checkpoints: what is to go, and what has gone.

-- How often it was wished that the policy is applied (the API's), and up to which of
-- these wishes it was (the loop's); NULL: the experiment has ended since.
ALTER TABLE experiments ADD COLUMN collect_asked int NOT NULL DEFAULT 0;
ALTER TABLE experiments ADD COLUMN collected int DEFAULT 0;
-- When to look again, because something still needed what the policy has no use for.
-- The loop's.
ALTER TABLE experiments ADD COLUMN collect_again timestamptz;
CREATE INDEX experiments_collect ON experiments (id) WHERE collected IS DISTINCT FROM collect_asked OR collect_again IS NOT NULL;
-- How often its deletion was wished (the API's), and which of these wishes has failed
-- (the loop's).
ALTER TABLE experiments ADD COLUMN deletes_asked int NOT NULL DEFAULT 0;
ALTER TABLE experiments ADD COLUMN deletes_failed int NOT NULL DEFAULT 0;

-- A collection is a task that removes files of one experiment's.
CREATE TABLE collections (
    task_id       text PRIMARY KEY REFERENCES tasks ON DELETE CASCADE,
    experiment_id int NOT NULL REFERENCES experiments ON DELETE CASCADE,
    reason        text NOT NULL CHECK (reason IN ('policy', 'asked', 'deletion')),
    deletion      int CHECK ((deletion IS NOT NULL) = (reason = 'deletion')), -- which wish it carries out
    last          boolean NOT NULL DEFAULT true,        -- nothing is left after it, of a deletion
    events        boolean NOT NULL DEFAULT false,       -- TensorBoard's files go too
    events_at     timestamptz,                          -- they have gone
    events_files  bigint NOT NULL DEFAULT 0,
    events_bytes  bigint NOT NULL DEFAULT 0,
    events_error  text NOT NULL DEFAULT ''
);
CREATE INDEX collections_experiment ON collections (experiment_id, deletion);
CREATE UNIQUE INDEX collections_last ON collections (experiment_id, deletion) WHERE last;

-- What it removes of which checkpoint, and what came of it.
CREATE TABLE removals (
    task_id    text NOT NULL REFERENCES collections ON DELETE CASCADE,
    checkpoint uuid NOT NULL REFERENCES checkpoints ON DELETE CASCADE,
    globs      text[] NOT NULL,                         -- none: nothing goes, it is only looked what is there
    at         timestamptz,                             -- done
    files      bigint NOT NULL DEFAULT 0,
    bytes      bigint NOT NULL DEFAULT 0,
    error      text NOT NULL DEFAULT '',
    PRIMARY KEY (task_id, checkpoint)
);
CREATE INDEX removals_checkpoint ON removals (checkpoint);
