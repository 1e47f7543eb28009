-- Places that checkpoints lie in, each stored once however many trials use it.
CREATE TABLE storage_backends (
    id     int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    config jsonb NOT NULL,
    digest text NOT NULL UNIQUE GENERATED ALWAYS AS (md5(config::text)) STORED -- what takes the name of an encoding is not immutable
);

CREATE TABLE checkpoints (
    uuid          uuid PRIMARY KEY,
    task_id       text NOT NULL REFERENCES tasks ON DELETE CASCADE,
    allocation_id text REFERENCES allocations ON DELETE SET NULL,
    trial_id      int REFERENCES trials ON DELETE CASCADE,
    run_id        int NOT NULL DEFAULT 0,
    steps         int NOT NULL DEFAULT 0,
    state         text NOT NULL CHECK (state IN ('ACTIVE', 'COMPLETED', 'ERROR', 'DELETED', 'PARTIALLY_DELETED')),
    reported_at   timestamptz NOT NULL DEFAULT now(),
    resources     jsonb NOT NULL DEFAULT '{}',  -- path → bytes
    metadata      jsonb NOT NULL DEFAULT '{}',
    size          bigint NOT NULL DEFAULT 0,
    storage_id    int REFERENCES storage_backends
);
CREATE INDEX checkpoints_trial ON checkpoints (trial_id, steps DESC);
CREATE INDEX checkpoints_task ON checkpoints (task_id);
