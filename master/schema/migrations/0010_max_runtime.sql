-- Limits of time (resources.max_runtime of a configuration, max_runtime of a pool).
-- In the order in which masters that run read these tables, which wait until they are rewritten.
LOCK TABLE experiments, tasks, allocations IN ACCESS EXCLUSIVE MODE;
ALTER TABLE tasks
    -- The loop: for how many seconds its ended attempts held their places, since its beginning or its last continuation.
    ADD COLUMN held_seconds float8 NOT NULL DEFAULT 0,
    -- A time span such as 4h0m0s; the loop reads it without the rest of the configuration, which may be large.
    ADD COLUMN max_runtime text GENERATED ALWAYS AS (config #>> '{resources,max_runtime}') STORED;
ALTER TABLE experiments
    ADD COLUMN max_runtime jsonb GENERATED ALWAYS AS (config #> '{resources,max_runtime}') STORED,
    -- The budget of its search. The loop reads it, as max_runtime, without the rest of the configuration, which may be large.
    ADD COLUMN search_budget jsonb GENERATED ALWAYS AS (config #> '{searcher,budget}') STORED;
ALTER TABLE allocations
    -- The loop: when it wrote into the task's log that the limit is near.
    ADD COLUMN warned_at timestamptz,
    -- The loop: the attempt was placed on slots that a more important request waited for, because it was expected to end by then;
    -- from then on it is preempted first. NULL: it was not.
    ADD COLUMN lent_until timestamptz;
