-- Logs are append-only. A row is a chunk: up to a thousand lines that arrived
-- together, compressed by the master. Lines are numbered per task from 1; the
-- numbers are handed out under a lock on the task's row that is held until the
-- commit, so whoever has read up to a number has missed nothing below it.
--
-- Chunks are partitioned by retention class first, then by time of arrival, so
-- that retention drops whole partitions instead of deleting rows. Masters make
-- partitions ahead of time and drop what has run out (store/logs_keep.go); each
-- class has a default partition, so that a line always has a place even when no
-- master has made one.

-- How long logs may be kept, in days; 0 is for ever. A task's logs go to the
-- shortest class that keeps them at least as long as asked.
CREATE TABLE log_classes (
    days   smallint PRIMARY KEY,
    period interval NOT NULL                -- of one partition
);
INSERT INTO log_classes VALUES (0, '30 days'), (7, '1 day'), (30, '5 days'), (90, '15 days'), (365, '30 days');

CREATE TABLE log_tasks (
    id      int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task_id text NOT NULL UNIQUE REFERENCES tasks ON DELETE CASCADE,
    class   smallint NOT NULL DEFAULT 0 REFERENCES log_classes,
    next    bigint NOT NULL DEFAULT 1,      -- number of the next line
    since   timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- Where lines come from: what would otherwise be repeated in every line.
CREATE TABLE log_origins (
    id            int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    log_task      int NOT NULL REFERENCES log_tasks ON DELETE CASCADE,
    allocation_id text NOT NULL DEFAULT '',
    agent_id      text NOT NULL DEFAULT '',
    container_id  text NOT NULL DEFAULT '',
    UNIQUE (log_task, allocation_id, agent_id, container_id)
);

-- What kinds of lines a task has, so that filters can be offered without reading
-- the lines.
CREATE TABLE log_kinds (
    log_task int NOT NULL REFERENCES log_tasks ON DELETE CASCADE,
    stdtype  text NOT NULL,
    source   text NOT NULL,
    rank     int NOT NULL,                  -- -1: none
    PRIMARY KEY (log_task, stdtype, source, rank)
);

-- How far a shipper's lines are in. Written in the transaction that stores the
-- lines, which makes shipping exactly-once however often a batch is sent.
CREATE TABLE log_shippers (
    shipper text PRIMARY KEY,
    task_id text NOT NULL REFERENCES tasks ON DELETE CASCADE,
    next    bigint NOT NULL,
    done    boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50);
CREATE INDEX log_shippers_task ON log_shippers (task_id);

CREATE TABLE log_chunks (
    class      smallint NOT NULL,
    arrived_at timestamptz NOT NULL DEFAULT now(),
    log_task   int NOT NULL REFERENCES log_tasks ON DELETE CASCADE,
    origin     int NOT NULL,
    first      bigint NOT NULL,             -- number of its first line
    lines      int NOT NULL CHECK (lines > 0),
    earliest   timestamptz NOT NULL,        -- of the lines' own times
    latest     timestamptz NOT NULL,
    levels     int NOT NULL,                -- bit n: a line of level n is in it
    body       bytea NOT NULL               -- store/logs_chunk.go
) PARTITION BY LIST (class);
CREATE INDEX log_chunks_line ON log_chunks (log_task, first);
ALTER TABLE log_chunks ALTER COLUMN body SET STORAGE EXTERNAL; -- compressed already

CREATE TABLE log_chunks_0 PARTITION OF log_chunks FOR VALUES IN (0) PARTITION BY RANGE (arrived_at);
CREATE TABLE log_chunks_7 PARTITION OF log_chunks FOR VALUES IN (7) PARTITION BY RANGE (arrived_at);
CREATE TABLE log_chunks_30 PARTITION OF log_chunks FOR VALUES IN (30) PARTITION BY RANGE (arrived_at);
CREATE TABLE log_chunks_90 PARTITION OF log_chunks FOR VALUES IN (90) PARTITION BY RANGE (arrived_at);
CREATE TABLE log_chunks_365 PARTITION OF log_chunks FOR VALUES IN (365) PARTITION BY RANGE (arrived_at);
CREATE TABLE log_chunks_0_rest PARTITION OF log_chunks_0 DEFAULT;
CREATE TABLE log_chunks_7_rest PARTITION OF log_chunks_7 DEFAULT;
CREATE TABLE log_chunks_30_rest PARTITION OF log_chunks_30 DEFAULT;
CREATE TABLE log_chunks_90_rest PARTITION OF log_chunks_90 DEFAULT;
CREATE TABLE log_chunks_365_rest PARTITION OF log_chunks_365 DEFAULT;
