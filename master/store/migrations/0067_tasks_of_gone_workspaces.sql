-- A task of a workspace that is gone is shown for a day to who asks for it by its id, as in Determined. It has no workspace then, and
-- no list contains it.
ALTER TABLE tasks
    ALTER COLUMN workspace_id DROP NOT NULL,
    ADD COLUMN gone_workspace_id integer,
    ADD CONSTRAINT tasks_workspace CHECK (workspace_id IS NOT NULL OR gone_workspace_id IS NOT NULL AND ended_at IS NOT NULL AND experiment_id IS NULL);
CREATE INDEX tasks_gone ON tasks (ended_at) WHERE workspace_id IS NULL;
CREATE INDEX tasks_workspace_index ON tasks (workspace_id) WHERE experiment_id IS NULL;
