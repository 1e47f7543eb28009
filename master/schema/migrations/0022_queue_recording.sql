-- What the plans of each pool were asked and what they decided (master/sched/record), so that they can be asked again with other settings. Only the
-- leader's loop writes and deletes rows; nothing reads them but an operator's download.
CREATE TABLE queue_recording (
    id    bigint GENERATED ALWAYS AS IDENTITY,
    pool  text NOT NULL,
    at    timestamptz NOT NULL, -- of the plan
    whole boolean NOT NULL,     -- the frames before it need not be known
    bytes int NOT NULL,         -- of the frame
    frame text NOT NULL,        -- JSON
    PRIMARY KEY (id) INCLUDE (bytes)
);
CREATE INDEX queue_recording_at ON queue_recording (at, id);
CREATE INDEX queue_recording_whole ON queue_recording (pool, id) INCLUDE (at) WHERE whole;
