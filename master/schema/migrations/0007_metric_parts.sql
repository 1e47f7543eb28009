-- Programs report the metrics of one step one by one, and a report whose key exists is merged into the stored row (metrics.merged), which
-- moves to the end of the order in which reports become visible. So that the summary of the trial gets each value once, a part has what one report
-- has brought to such a row, and keeps its place in that order: the summarizer reads the rows without merges and the parts. A row that was merged has
-- all its parts after the cursor. The writer of reports inserts parts, and the summarizer removes those that a summary has, unless it is stale.
-- A merged row without a part of its transaction was merged by an earlier release: its summary is rebuilt.
CREATE TABLE metric_parts (
    xid        xid8 NOT NULL,                 -- the transaction that brought the part
    id         bigint NOT NULL,               -- of the row of metrics
    trial_id   int NOT NULL REFERENCES trials ON DELETE CASCADE,
    run_id     int NOT NULL,
    group_name text NOT NULL,
    steps      int,
    position   bigint NOT NULL,               -- the key of the row ends here
    whole      boolean NOT NULL DEFAULT false, -- the row as it was before the first merge
    replaces   boolean NOT NULL DEFAULT false, -- a value was there before with another value
    bytes      int NOT NULL,                  -- by which the part has made the row longer
    avg        jsonb NOT NULL,
    PRIMARY KEY (xid, id)
);
CREATE INDEX metric_parts_trial ON metric_parts (trial_id, id);

-- Of a stale summary: it lacks what was brought after this position, also if it is rebuilt for another reason too. NULL: it lacks nothing.
ALTER TABLE trial_summaries ADD COLUMN behind_xid xid8, ADD COLUMN behind_id bigint;

-- What a rebuild of a summary has read, if it needs several steps. Until it has read all, trial_summaries has the old summary, with
-- the reports that came since.
CREATE TABLE summary_rebuilds (
    trial_id   int PRIMARY KEY REFERENCES trials ON DELETE CASCADE,
    version    int NOT NULL,                   -- of the stale summary; a rebuild for another version is dropped
    -- First it reads the rows as they were at this position, in the order of their keys. Then it follows the order in which reports
    -- became visible, and the position moves.
    xid        xid8 NOT NULL,
    id         bigint NOT NULL,
    rows_read  boolean NOT NULL,
    run_id     int NOT NULL,                   -- the key of the last row
    group_name text NOT NULL,
    position   bigint NOT NULL,
    replaced   boolean NOT NULL,               -- a value has changed meanwhile, so the summary stays stale
    summary    jsonb NOT NULL
);
