-- What attempts held, and for whom: a row for each attempt from its placement to its end, with the
-- names of that time, so that it outlives experiments, projects, workspaces and users. The loop
-- writes it in the transactions that store both changes of state.
CREATE TABLE usage (
    allocation_id text PRIMARY KEY,
    task_type     text NOT NULL,
    owner_id      int NOT NULL,
    username      text NOT NULL,
    workspace_id  int NOT NULL,
    workspace     text NOT NULL,
    project       text NOT NULL DEFAULT '',  -- of an experiment
    experiment_id int,
    labels        text[] NOT NULL DEFAULT '{}',
    pool          text NOT NULL,
    slots         int NOT NULL CHECK (slots >= 0),
    queued_at     timestamptz NOT NULL,
    started_at    timestamptz NOT NULL,      -- when the attempt was placed
    ended_at      timestamptz,               -- NULL: it holds its slots
    CHECK (ended_at >= started_at)
);
CREATE INDEX usage_until ON usage (coalesce(ended_at, 'infinity'::timestamptz), started_at);
INSERT INTO usage
SELECT a.id, k.type, k.owner_id, u.username, k.workspace_id, w.name, coalesce(p.name, ''), e.id, coalesce(e.labels, '{}'),
    a.pool, a.slots, a.queued_at, a.assigned_at, greatest(a.assigned_at, a.ended_at)
FROM allocations a JOIN tasks k ON k.id = a.task_id JOIN users u ON u.id = k.owner_id JOIN workspaces w ON w.id = k.workspace_id
    LEFT JOIN experiments e ON e.id = k.experiment_id AND k.type = 'TRIAL' LEFT JOIN projects p ON p.id = e.project_id
WHERE a.assigned_at IS NOT NULL;
