-- The parts of a trial's task, as answers show them: the task runs from its beginning, as part 0, and part n begins with the n-th
-- continuation of the trial. A trial that was continued before this migration has one part for all of that time.
CREATE TABLE task_parts (
    task_id text NOT NULL REFERENCES tasks ON DELETE CASCADE,
    n int NOT NULL CHECK (n > 0),
    first_run int NOT NULL, -- of its attempts
    first_line bigint NOT NULL, -- from which on lines of the log that no attempt wrote are its own
    began_at timestamptz NOT NULL DEFAULT now(),
    ended_before timestamptz NOT NULL, -- when the part before it had ended, and how
    exit_before text NOT NULL,
    PRIMARY KEY (task_id, n)
);
