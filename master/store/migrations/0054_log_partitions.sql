-- A log says which of its lines are deleted. A partition is dropped when it has no other lines.
ALTER TABLE log_tasks ADD COLUMN expired_to bigint NOT NULL DEFAULT 1; -- the loop and the API: lines before this number are deleted
ALTER TABLE log_tasks ADD COLUMN expired_at timestamptz;               -- the loop and the API: when the last of them were
ALTER TABLE log_tasks ADD COLUMN bytes bigint NOT NULL DEFAULT 0;      -- API: of the other lines, as they are stored

UPDATE log_tasks SET expired_to = next, expired_at = emptied_at WHERE emptied_at IS NOT NULL;
UPDATE log_tasks l SET bytes = c.bytes FROM (SELECT log_task, sum(octet_length(body)) AS bytes FROM log_chunks GROUP BY log_task) c
WHERE c.log_task = l.id;
