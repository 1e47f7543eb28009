-- When the jobs in the queue of a pool may start, as the leader expects. The loop replaces the rows; the API reads them.
CREATE TABLE forecasts (
    pool        text PRIMARY KEY,
    computed_at timestamptz NOT NULL,
    starts      jsonb NOT NULL CHECK (jsonb_typeof(starts) = 'object'), -- of the first jobs, by experiment or task
    others      text NOT NULL                                           -- why nothing is known of the other jobs
);
