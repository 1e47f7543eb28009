-- Generic tasks: programs that users start in trees, pause and resume.
ALTER TABLE tasks
    DROP CONSTRAINT tasks_type_check,
    ADD CONSTRAINT tasks_type_check CHECK (type IN ('TRIAL', 'COMMAND', 'NOTEBOOK', 'SHELL', 'TENSORBOARD', 'CHECKPOINT_GC', 'GENERIC')),
    DROP CONSTRAINT tasks_desired_check,
    ADD CONSTRAINT tasks_desired_check CHECK (desired IN ('run', 'pause', 'kill') AND (desired <> 'pause' OR type = 'GENERIC')),
    ADD COLUMN parent_id text REFERENCES tasks ON DELETE SET NULL,
    ADD COLUMN forked_from text,                       -- that task may be gone
    ADD COLUMN no_pause boolean NOT NULL DEFAULT false,
    ADD COLUMN submitted text NOT NULL DEFAULT '';     -- configuration as it was submitted, as JSON
CREATE INDEX tasks_parent ON tasks (parent_id) WHERE parent_id IS NOT NULL;
