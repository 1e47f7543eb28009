-- How long the lines of a task are kept after its end. A trial's own value goes before that of its
-- experiment, which goes before retention_policy in the experiment's configuration and the master's.
ALTER TABLE experiments ADD COLUMN log_retention_days smallint CHECK (log_retention_days >= -1); -- API; -1: for ever; NULL: as the configuration says
ALTER TABLE trials ADD COLUMN log_retention_days smallint CHECK (log_retention_days >= -1);      -- API; NULL: as the experiment

-- The loop: all lines are deleted, and no more can arrive.
ALTER TABLE log_tasks ADD COLUMN emptied_at timestamptz;
CREATE INDEX log_tasks_kept ON log_tasks (id) WHERE emptied_at IS NULL;

ALTER TABLE work DROP CONSTRAINT work_kind_check;
ALTER TABLE work ADD CONSTRAINT work_kind_check CHECK (kind IN ('submit', 'stop', 'collect', 'erase', 'read', 'expire'));
