-- Metrics are append-only: a row is what one report said. Its key is the trial,
-- the run, the group and the step; groups without steps (profiling) have the
-- report's time instead. A second report under a key may only add names.
CREATE TABLE metrics (
    trial_id    int NOT NULL,               -- of trials; see metrics_follow_trials
    run_id      int NOT NULL,
    grp         text NOT NULL CHECK (grp <> ''),
    steps       int,                        -- NULL: the group counts no steps
    ord         bigint NOT NULL,            -- its steps, else its time in microseconds, which is always more
    reported_at timestamptz NOT NULL,       -- the task's clock where it sent a time, else ours
    id          bigint GENERATED ALWAYS AS IDENTITY,
    -- The transaction that wrote the row last. Those who follow the table read up
    -- to the oldest transaction that still runs (pg_snapshot_xmin), so a row that
    -- commits late is never passed over, which an ever-rising id could not promise.
    xid         xid8 NOT NULL DEFAULT pg_current_xact_id(),
    merged      boolean NOT NULL DEFAULT false, -- names were added after the summary may have seen it
    archived    boolean NOT NULL DEFAULT false, -- a later run restarted before this step
    avg         jsonb NOT NULL,
    batches     jsonb,
    CHECK (ord = steps OR steps IS NULL AND ord > 2147483647)
);
-- The key. Its order is the order of a series, which is read without sorting.
CREATE UNIQUE INDEX metrics_key ON metrics (trial_id, grp, ord, run_id);
-- Written at its right-hand end only, and small: rows of one commit share a key.
CREATE INDEX metrics_by_xid ON metrics (xid);

-- A foreign key would look at trials once per row, a third of what storing a row
-- costs. Whoever writes locks each trial of a batch once instead, by the lock that
-- a foreign key takes, and what would cascade is here.
CREATE FUNCTION metrics_follow_trials() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM metrics m USING gone WHERE m.trial_id = gone.id;
    RETURN NULL;
END $$;
CREATE TRIGGER metrics_follow_trials AFTER DELETE ON trials
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION metrics_follow_trials();

-- What the rows of a trial come to. Written by the one summarizer, behind the
-- rows; stale says that rows were archived or merged and it must be made anew.
CREATE TABLE trial_summaries (
    trial_id       int PRIMARY KEY REFERENCES trials ON DELETE CASCADE,
    summary        jsonb NOT NULL DEFAULT '{}', -- group → name → {count, sum, min, max, mean, last, type}
    total_batches  int NOT NULL DEFAULT 0,
    -- Keys of rows in metrics, group validation.
    latest_run     int,
    latest_steps   int,
    best_run       int,
    best_steps     int,
    searcher_value double precision,            -- of the best validation
    stale          boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50);
CREATE INDEX trial_summaries_stale ON trial_summaries (trial_id) WHERE stale;

-- How far the summarizer has come: rows up to this transaction and row are in.
CREATE TABLE metrics_cursor (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    xid xid8 NOT NULL DEFAULT '0',
    id  bigint NOT NULL DEFAULT 0
);
INSERT INTO metrics_cursor DEFAULT VALUES;

-- The results of all-gathers, kept so that a call that is repeated, or arrives at
-- another master, gets the same answer. A round is complete when as many peers
-- came as its members said there are.
CREATE TABLE gathers (
    allocation_id text NOT NULL REFERENCES allocations ON DELETE CASCADE,
    about         text NOT NULL,            -- what is gathered: data, or signs of life
    request       text NOT NULL,            -- the peer's own name for its call
    round         int NOT NULL,
    peers         int NOT NULL CHECK (peers > 0),
    place         int NOT NULL,             -- order of arrival in the round
    data          jsonb NOT NULL,
    PRIMARY KEY (allocation_id, about, request),
    UNIQUE (allocation_id, about, round, place)
);

-- The best validation of an experiment, found without reading them all.
CREATE INDEX search_events_metric ON search_events (experiment_id, ((body->>'metric')::double precision))
    WHERE kind = 'validated' AND body->>'metric' IS NOT NULL;

-- The length that a harness before 0.38 says it has trained to; with it, it is
-- told that there is no more to do, also after a restart. Written by the API.
ALTER TABLE trials ADD COLUMN completed_length bigint;
