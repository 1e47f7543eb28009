-- Webhooks: addresses to which the leading master sends events. The API writes webhooks and
-- their triggers; served_at is the leader's.
CREATE TABLE webhooks (
    id           int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace_id int REFERENCES workspaces ON DELETE CASCADE, -- NULL: for all workspaces
    name         text NOT NULL,
    url          text NOT NULL,
    type         text NOT NULL CHECK (type IN ('DEFAULT', 'SLACK')),
    mode         text NOT NULL CHECK (mode IN ('WORKSPACE', 'SPECIFIC')),
    created_at   timestamptz NOT NULL DEFAULT now(),
    served_at    timestamptz NOT NULL DEFAULT now(), -- of the last request; targets take turns by it
    UNIQUE (workspace_id, name)
);
CREATE TABLE webhook_triggers (
    id         int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    webhook_id int NOT NULL REFERENCES webhooks ON DELETE CASCADE,
    type       text NOT NULL CHECK (type IN ('EXPERIMENT_STATE_CHANGE', 'METRIC_THRESHOLD_EXCEEDED', 'TASK_LOG', 'CUSTOM')),
    condition  jsonb NOT NULL
);
CREATE INDEX webhook_triggers_webhook ON webhook_triggers (webhook_id, type);
CREATE INDEX webhook_triggers_type ON webhook_triggers (type) WHERE type IN ('METRIC_THRESHOLD_EXCEEDED', 'TASK_LOG');

-- Events to send, and the log of those that were sent: one row for each event and webhook,
-- inserted in the transaction that stores what happened. The leader writes the other
-- columns, except for a row of a test, which any master inserts when it is over.
CREATE TABLE webhook_deliveries (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- their order
    webhook_id int NOT NULL REFERENCES webhooks ON DELETE CASCADE,
    event_id   uuid NOT NULL,
    event      jsonb NOT NULL,
    state      text NOT NULL DEFAULT 'WAITING' CHECK (state IN ('WAITING', 'DELIVERED', 'FAILED', 'DROPPED')),
    created_at timestamptz NOT NULL DEFAULT now(),
    due_at     timestamptz NOT NULL DEFAULT now(),
    ended_at   timestamptz,
    tries      int NOT NULL DEFAULT 0,
    status     int,                      -- HTTP status of the last answer
    error      text NOT NULL DEFAULT '', -- of the last try
    CHECK ((state = 'WAITING') = (ended_at IS NULL))
);
CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (webhook_id, id) WHERE state = 'WAITING';
CREATE INDEX webhook_deliveries_log ON webhook_deliveries (webhook_id, id);

-- Triggers that have fired for a task, of the types that fire once for each task.
CREATE TABLE webhook_fired (
    trigger_id int NOT NULL REFERENCES webhook_triggers ON DELETE CASCADE,
    task_id    text NOT NULL REFERENCES tasks ON DELETE CASCADE,
    PRIMARY KEY (trigger_id, task_id)
);
CREATE INDEX webhook_fired_task ON webhook_fired (task_id);
