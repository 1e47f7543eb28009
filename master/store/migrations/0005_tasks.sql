-- Tasks that people visit: notebooks, shells, TensorBoards.

-- Why somebody wanted a task's end, for those who ask later. The API's.
ALTER TABLE tasks ADD COLUMN kill_reason text NOT NULL DEFAULT '';

-- By which the master is known to an attempt's gateway. It is told to the runner
-- when it passes the gate and to nobody else.
ALTER TABLE allocations ADD COLUMN gateway_secret uuid NOT NULL DEFAULT gen_random_uuid();

-- Keys of a shell, made with it: one pair for those who log in, one for the shell
-- itself to be known by.
CREATE TABLE shell_keys (
    task_id          text PRIMARY KEY REFERENCES tasks ON DELETE CASCADE,
    private_key      text NOT NULL,           -- PEM; for its owner and admins
    public_key       text NOT NULL,           -- a line of authorized_keys
    host_private_key text NOT NULL,           -- PEM; for the task's runner
    host_public_key  text NOT NULL            -- a line without a name
);

-- What a TensorBoard shows. Experiments and trials may be deleted while it runs,
-- so these are numbers and no references.
CREATE TABLE tensorboards (
    task_id        text PRIMARY KEY REFERENCES tasks ON DELETE CASCADE,
    experiment_ids int[] NOT NULL DEFAULT '{}',
    trial_ids      int[] NOT NULL DEFAULT '{}'
);
CREATE INDEX tasks_type ON tasks (type, created_at) WHERE type <> 'TRIAL';
