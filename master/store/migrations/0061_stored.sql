-- What users store, so that nobody fills the database (stored.go).
-- The size of the reports of a trial as PostgreSQL stores them. The summarizer adds that of each row that it passes.
ALTER TABLE trial_summaries ADD COLUMN bytes bigint NOT NULL DEFAULT 0;
UPDATE trial_summaries s SET bytes = r.bytes FROM (
    SELECT m.trial_id, sum(160 + octet_length(m.grp) + pg_column_size(m.avg) + coalesce(pg_column_size(m.batches), 0))::bigint AS bytes
    FROM metrics m, metrics_cursor c WHERE (m.xid, m.id) <= (c.xid, c.id) GROUP BY m.trial_id) r WHERE s.trial_id = r.trial_id;
-- Who submitted code last: until an experiment or a task has it, it counts for this user. NULL: an earlier release stored it.
ALTER TABLE contexts ADD COLUMN owner_id int;
CREATE INDEX contexts_owner ON contexts (owner_id, created_at);
-- The tasks of an owner, for the sizes of their logs.
CREATE INDEX tasks_owner ON tasks (owner_id);
