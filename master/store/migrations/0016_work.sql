-- Slow and repeated work of the leader, one row a piece. A piece that fails is tried
-- again later and later; the pieces of one experiment or task (whose) take turns with
-- those of the others. The loop writes the rows, with the changes that they follow from.
CREATE TABLE work (
    kind  text NOT NULL CHECK (kind IN ('submit', 'stop', 'collect', 'erase')),
    about text NOT NULL,                    -- an attempt (submit, stop), or an experiment
    whose text NOT NULL,
    after timestamptz NOT NULL DEFAULT now(), -- not to be tried before
    tries int NOT NULL DEFAULT 0,           -- that failed, in a row
    error text NOT NULL DEFAULT '',         -- of the last one
    since timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (kind, about)
);
CREATE INDEX work_due ON work (kind, after);

-- When it was first tried to hand the attempt's job to Nomad: how long that may take
-- counts from there.
ALTER TABLE allocations ADD COLUMN tried_at timestamptz;
-- The last try failed because Nomad has no place for it on its nodes.
ALTER TABLE allocations ADD COLUMN no_room boolean NOT NULL DEFAULT false;
UPDATE allocations SET tried_at = coalesce(submitted_at, assigned_at) WHERE submitted_at IS NOT NULL OR submit_tries > 0;
INSERT INTO work (kind, about, whose)
    SELECT 'submit', a.id, coalesce('experiment ' || k.experiment_id, k.id) FROM allocations a JOIN tasks k ON k.id = a.task_id
    WHERE a.state = 'ASSIGNED' AND a.submitted_at IS NULL AND a.kill_at IS NULL AND a.refused_why = '';
INSERT INTO work (kind, about, whose)
    SELECT 'stop', a.id, coalesce('experiment ' || k.experiment_id, k.id) FROM allocations a JOIN tasks k ON k.id = a.task_id
    WHERE a.kill_at IS NOT NULL AND a.stopped_at IS NULL AND a.submitted_at IS NOT NULL;
-- submit_after and submit_tries stay for masters of the previous release, which may still lead.

-- For foreign keys: to delete an attempt or an experiment, PostgreSQL looks for these.
CREATE INDEX checkpoints_allocation ON checkpoints (allocation_id) WHERE allocation_id IS NOT NULL;
CREATE INDEX experiments_parent ON experiments (parent_id) WHERE parent_id IS NOT NULL;
