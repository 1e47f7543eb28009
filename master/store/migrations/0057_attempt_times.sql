-- When an attempt began to wait. queued_at is that of its task's first attempt, so that a task keeps its place in the
-- queue. Attempts of before have none: of them, lists show the end of the attempt before.
ALTER TABLE allocations ADD COLUMN created_at timestamptz;
ALTER TABLE allocations ALTER COLUMN created_at SET DEFAULT now();
