-- The search in all logs begins with the tasks that run, and goes on with those that ended last: in this order, without sorting all of them.
CREATE INDEX tasks_by_end ON tasks ((coalesce(ended_at, 'infinity'::timestamptz))) WHERE workspace_id IS NOT NULL;
