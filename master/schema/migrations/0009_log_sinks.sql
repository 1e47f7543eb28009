-- Copies of log lines for other systems (log_sinks in the configuration). The leader writes these rows. A sink of a new name begins with the
-- lines that are stored from that moment on.
CREATE TABLE log_sinks (
    name     text PRIMARY KEY,
    begun    boolean NOT NULL DEFAULT false, -- log_sink_tasks has the logs of the beginning
    masters  bigint NOT NULL,           -- lines of master_logs up to this id are sent
    sent     bigint NOT NULL DEFAULT 0, -- lines
    lost     bigint NOT NULL DEFAULT 0, -- lines that were deleted before they were sent
    rejected bigint NOT NULL DEFAULT 0, -- lines that the sink has not taken
    waiting  bigint NOT NULL DEFAULT 0, -- lines of tasks that are not sent, when somebody looked at all logs
    failing_since timestamptz           -- NULL: the last request succeeded
);

-- How far a sink has the log of a task. Without a row it has nothing.
CREATE TABLE log_sink_tasks (
    sink     text NOT NULL REFERENCES log_sinks ON DELETE CASCADE,
    log_task int NOT NULL REFERENCES log_tasks ON DELETE CASCADE,
    next     bigint NOT NULL,           -- number of the next line to send
    PRIMARY KEY (sink, log_task)
) WITH (fillfactor = 50);
CREATE INDEX log_sink_tasks_of ON log_sink_tasks (log_task); -- for the deletion of a log
