-- A task keeps its place in the queue: all its attempts are queued since its first
-- was. NULL before that, and after an end that is taken back. The loop's.
ALTER TABLE tasks ADD COLUMN queued_at timestamptz;
UPDATE tasks k SET queued_at = (SELECT min(a.queued_at) FROM allocations a WHERE a.task_id = k.id) WHERE k.ended_at IS NULL;
