-- What is wanted and what is. Each column has one writer; where both the API
-- and the loop write a table, a comment says which column is whose.

CREATE TABLE cluster (
    one        boolean PRIMARY KEY DEFAULT true CHECK (one),
    id         uuid NOT NULL DEFAULT gen_random_uuid(),
    created_at timestamptz NOT NULL DEFAULT now(),
    -- The highest index that a consistent answer of Nomad has carried. A lower
    -- one means that Nomad was restored from an older state.
    nomad_index bigint NOT NULL DEFAULT 0,
    -- What the loop will not conclude from, in a sentence for operators; empty when all is well.
    alarm      text NOT NULL DEFAULT '',
    -- Intent: the operators have looked, and Nomad is to be believed once.
    trust      boolean NOT NULL DEFAULT false
);
INSERT INTO cluster DEFAULT VALUES;

-- term is a key column, so that an election (an update of a key) waits for the
-- FOR KEY SHARE of a leader's running transactions and a renewal does not.
CREATE TABLE leader (
    name       text PRIMARY KEY,
    holder     text NOT NULL,
    address    text NOT NULL DEFAULT '',
    term       bigint NOT NULL,
    expires_at timestamptz NOT NULL,
    UNIQUE (name, term)
);

CREATE TABLE users (
    id            int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    username      text NOT NULL UNIQUE CHECK (username = lower(username) AND username <> ''),
    display_name  text NOT NULL DEFAULT '',
    password_hash text NOT NULL DEFAULT '', -- bcrypt of what the client sends; '' is a blank password
    admin         boolean NOT NULL DEFAULT false,
    active        boolean NOT NULL DEFAULT true,
    remote        boolean NOT NULL DEFAULT false,
    agent_user    jsonb,                    -- {user, uid, group, gid} that tasks run as
    created_at    timestamptz NOT NULL DEFAULT now(),
    modified_at   timestamptz NOT NULL DEFAULT now(),
    last_auth_at  timestamptz
);
INSERT INTO users (username, admin) VALUES ('admin', true), ('determined', false);

CREATE TABLE sessions (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id    int NOT NULL REFERENCES users ON DELETE CASCADE,
    token_hash bytea NOT NULL UNIQUE,       -- sha256; the token itself is nowhere
    allocation_id text,                     -- made for an attempt of the user's; ends with it
    allocation_rank int,                    -- and for which of its members
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);
CREATE INDEX sessions_allocation ON sessions (allocation_id) WHERE allocation_id IS NOT NULL;
CREATE INDEX sessions_user ON sessions (user_id);
CREATE INDEX sessions_expiry ON sessions (expires_at);

CREATE TABLE workspaces (
    id         int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text NOT NULL UNIQUE CHECK (name <> ''),
    user_id    int NOT NULL REFERENCES users,
    archived   boolean NOT NULL DEFAULT false,
    immutable  boolean NOT NULL DEFAULT false,
    settings   jsonb NOT NULL DEFAULT '{}', -- default pools, checkpoint storage, agent user
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE projects (
    id           int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace_id int NOT NULL REFERENCES workspaces,
    name         text NOT NULL CHECK (name <> ''),
    key          text NOT NULL UNIQUE,
    description  text NOT NULL DEFAULT '',
    user_id      int NOT NULL REFERENCES users,
    archived     boolean NOT NULL DEFAULT false,
    immutable    boolean NOT NULL DEFAULT false,
    notes        jsonb NOT NULL DEFAULT '[]',
    created_at   timestamptz NOT NULL DEFAULT now(),
    UNIQUE (workspace_id, name)
);
INSERT INTO workspaces (name, user_id, immutable) SELECT 'Uncategorized', id, true FROM users WHERE username = 'admin';
INSERT INTO projects (workspace_id, name, key, user_id, immutable)
    SELECT w.id, 'Uncategorized', 'UNCATEGORIZED', w.user_id, true FROM workspaces w;

-- The users' code, stored once however often it is submitted.
CREATE TABLE contexts (
    hash bytea PRIMARY KEY,                 -- sha256 of the sorted file list and contents
    tgz  bytea NOT NULL,
    size bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE contexts ALTER COLUMN tgz SET STORAGE EXTERNAL;

CREATE TABLE experiments (
    id              int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id          uuid NOT NULL DEFAULT gen_random_uuid(),
    owner_id        int NOT NULL REFERENCES users,
    project_id      int NOT NULL REFERENCES projects,
    parent_id       int REFERENCES experiments ON DELETE SET NULL,
    external_id     text UNIQUE,
    unmanaged       boolean NOT NULL DEFAULT false,
    -- Submitted. What a person may change later is in columns; the rest stays in config.
    config          jsonb NOT NULL,         -- merged and complete
    original_config text NOT NULL,          -- verbatim
    context_hash    bytea REFERENCES contexts,
    seed            bigint NOT NULL,
    -- Intent, written by the API.
    name            text NOT NULL,
    description     text NOT NULL DEFAULT '',
    labels          text[] NOT NULL DEFAULT '{}',
    notes           text NOT NULL DEFAULT '',
    archived        boolean NOT NULL DEFAULT false,
    desired         text NOT NULL CHECK (desired IN ('active', 'paused', 'canceled', 'killed', 'deleted')),
    pool            text NOT NULL,
    slots_per_trial int NOT NULL CHECK (slots_per_trial >= 0),
    max_slots       int CHECK (max_slots >= 0),
    weight          double precision NOT NULL DEFAULT 1 CHECK (weight > 0),
    priority        int NOT NULL DEFAULT 42 CHECK (priority BETWEEN 1 AND 99),
    -- Fact, written by the loop.
    state           text NOT NULL DEFAULT 'PAUSED' CHECK (state IN ('ACTIVE', 'PAUSED', 'STOPPING_COMPLETED',
        'STOPPING_CANCELED', 'STOPPING_KILLED', 'STOPPING_ERROR', 'COMPLETED', 'CANCELED', 'ERROR', 'DELETING', 'DELETE_FAILED')),
    error           text NOT NULL DEFAULT '',   -- why it ended in ERROR
    progress        double precision,
    started_at      timestamptz NOT NULL DEFAULT now(),
    ended_at        timestamptz,
    best_trial_id   int,
    best_metric     double precision,
    -- Taken out of config for lists, which would otherwise unpack it for every row.
    searcher        text GENERATED ALWAYS AS (config #>> '{searcher,name}') STORED,
    metric          text GENERATED ALWAYS AS (config #>> '{searcher,metric}') STORED,
    smaller_is_better boolean NOT NULL GENERATED ALWAYS AS (coalesce((config #>> '{searcher,smaller_is_better}')::boolean, true)) STORED,
    CHECK ((state IN ('COMPLETED', 'CANCELED', 'ERROR')) = (ended_at IS NOT NULL) OR state IN ('DELETING', 'DELETE_FAILED'))
);
CREATE INDEX experiments_live ON experiments (id) WHERE state NOT IN ('COMPLETED', 'CANCELED', 'ERROR', 'DELETE_FAILED');
CREATE INDEX experiments_deleted ON experiments (id) WHERE desired = 'deleted';
-- Lists are filtered and sorted by the narrow columns; the wide ones live apart.
ALTER TABLE experiments SET (toast_tuple_target = 256);
CREATE INDEX experiments_project ON experiments (project_id, id) INCLUDE (archived);
CREATE INDEX experiments_owner ON experiments (owner_id, id) INCLUDE (archived);
CREATE INDEX experiments_started ON experiments (started_at, id);

-- Things that run: a trial, a command, later a notebook. A task outlives its attempts.
CREATE TABLE tasks (
    id            text PRIMARY KEY,
    type          text NOT NULL CHECK (type IN ('TRIAL', 'COMMAND', 'NOTEBOOK', 'SHELL', 'TENSORBOARD', 'CHECKPOINT_GC')),
    job_id        uuid NOT NULL,
    owner_id      int NOT NULL REFERENCES users,
    workspace_id  int NOT NULL REFERENCES workspaces,
    experiment_id int REFERENCES experiments ON DELETE CASCADE,
    name          text NOT NULL,
    config        jsonb NOT NULL DEFAULT '{}', -- of a command; a trial's is its experiment's
    context_hash  bytea REFERENCES contexts,
    created_at    timestamptz NOT NULL DEFAULT now(),
    -- Intent.
    desired       text NOT NULL DEFAULT 'run' CHECK (desired IN ('run', 'kill')),
    pool          text NOT NULL,
    slots         int NOT NULL CHECK (slots >= 0),
    priority      int NOT NULL DEFAULT 42 CHECK (priority BETWEEN 1 AND 99),
    -- Fact.
    ended_at      timestamptz,
    exit_status   text NOT NULL DEFAULT '',
    unstarted     int NOT NULL DEFAULT 0  -- attempts in a row that never reached their program
);
CREATE INDEX tasks_live ON tasks (id) WHERE ended_at IS NULL;
CREATE INDEX tasks_experiment ON tasks (experiment_id);

CREATE TABLE trials (
    id            int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    experiment_id int NOT NULL REFERENCES experiments ON DELETE CASCADE,
    number        int NOT NULL,             -- the search's own count, from 0
    task_id       text NOT NULL UNIQUE REFERENCES tasks ON DELETE CASCADE,
    hparams       jsonb NOT NULL,
    seed          bigint NOT NULL,
    warm_start    uuid,                     -- the checkpoint it started from, if any
    -- Intent: 'stop' comes from the search, 'kill' from a person.
    stop_wanted   boolean NOT NULL DEFAULT false, -- the loop's, from the search
    kill_wanted   boolean NOT NULL DEFAULT false, -- the API's
    -- Fact, written by the loop.
    state         text NOT NULL DEFAULT 'ACTIVE' CHECK (state IN ('ACTIVE', 'PAUSED', 'STOPPING_COMPLETED',
        'STOPPING_CANCELED', 'STOPPING_KILLED', 'STOPPING_ERROR', 'COMPLETED', 'CANCELED', 'ERROR')),
    restarts      int NOT NULL DEFAULT 0,
    run_id        int NOT NULL DEFAULT 0,   -- of the newest allocation
    started_at    timestamptz NOT NULL DEFAULT now(),
    ended_at      timestamptz,
    error         text NOT NULL DEFAULT '',
    -- Reported by the trial, written by the API.
    early_exit    text CHECK (early_exit IN ('INVALID_HP', 'INIT_INVALID_HP', 'USER_REQUESTED_STOP')),
    progress      double precision,
    runner_state  text NOT NULL DEFAULT '',
    metadata      jsonb,
    UNIQUE (experiment_id, number)
);
CREATE INDEX trials_live ON trials (experiment_id) WHERE ended_at IS NULL;

-- One attempt: one row, one Nomad job, det-<id>.
CREATE TABLE allocations (
    id              text PRIMARY KEY,       -- <task>.<run>
    task_id         text NOT NULL REFERENCES tasks ON DELETE CASCADE,
    run_id          int NOT NULL,
    pool            text NOT NULL,
    slots           int NOT NULL CHECK (slots >= 0),
    priority        int NOT NULL,           -- its task's, and changed by the API together with it
    comm_key        uuid NOT NULL DEFAULT gen_random_uuid(), -- by which its members know each other
    queued_at       timestamptz NOT NULL DEFAULT now(),
    not_before      timestamptz,            -- waits at least until then: back-off, or a lost attempt that may still run
    exclude         text[] NOT NULL DEFAULT '{}', -- node ids to avoid
    -- Fact, written by the loop.
    state           text NOT NULL DEFAULT 'PENDING' CHECK (state IN ('PENDING', 'ASSIGNED', 'PULLING', 'STARTING', 'RUNNING', 'TERMINATING', 'TERMINATED')),
    waiting_reason  text NOT NULL DEFAULT '',
    preempt_at      timestamptz,            -- asked to checkpoint and leave
    preempt_reason  text NOT NULL DEFAULT '',
    kill_at         timestamptz,            -- to be stopped in Nomad
    kill_reason     text NOT NULL DEFAULT '',
    kill_cause      text NOT NULL DEFAULT '' CHECK (kill_cause IN ('', 'overdue', 'tidy')), -- see lifecycle.Cause
    assigned_at     timestamptz,
    started_at      timestamptz,
    ended_at        timestamptz,
    outcome         text CHECK (outcome IN ('completed', 'preempted', 'failed', 'killed', 'lost', 'refused', 'unplaced')),
    exit_code       int,
    exit_reason     text NOT NULL DEFAULT '',
    -- Act: what the loop asked of Nomad, and what came of it.
    submitted_at    timestamptz,
    submit_tries    int NOT NULL DEFAULT 0,
    submit_after    timestamptz,
    submit_error    text NOT NULL DEFAULT '',  -- of the last try
    refused_why     text NOT NULL DEFAULT '',  -- Nomad will never take it
    stopped_at      timestamptz,            -- Nomad was told to stop it
    -- Reported from inside, written by the API.
    is_ready        boolean NOT NULL DEFAULT false,
    is_waiting      boolean NOT NULL DEFAULT false,
    preempt_acked_at timestamptz,
    proxy_address   text NOT NULL DEFAULT '',
    accelerators    jsonb,
    UNIQUE (task_id, run_id),
    CHECK ((state = 'TERMINATED') = (ended_at IS NOT NULL)),
    CHECK ((state = 'TERMINATED') = (outcome IS NOT NULL))
);
CREATE INDEX allocations_to_stop ON allocations (id) WHERE kill_at IS NOT NULL AND stopped_at IS NULL AND submitted_at IS NOT NULL;
CREATE INDEX allocations_live ON allocations (id) WHERE state <> 'TERMINATED';
-- A task has one live attempt, whatever any program thinks.
CREATE UNIQUE INDEX allocations_one_live ON allocations (task_id) WHERE state <> 'TERMINATED';

-- The groups of an attempt, one per node.
CREATE TABLE members (
    allocation_id  text NOT NULL REFERENCES allocations ON DELETE CASCADE,
    rank           int NOT NULL,
    -- Placement, written by the loop.
    node_id        text NOT NULL,
    node_name      text NOT NULL,
    slot_ids       int[] NOT NULL DEFAULT '{}',
    -- What Nomad says, written by the loop.
    nomad_alloc_id text NOT NULL DEFAULT '',
    nomad_status   text NOT NULL DEFAULT '',  -- pending, running, complete, failed, lost, unknown, gone
    nomad_detail   text NOT NULL DEFAULT '',  -- the last words of Nomad about it
    nomad_index    bigint NOT NULL DEFAULT 0,
    nomad_ended_at timestamptz,               -- when Nomad was first seen to call it over
    nomad_exit     int,                       -- Nomad's exit code, for want of the runner's
    pulling        boolean NOT NULL DEFAULT false,
    started        boolean NOT NULL DEFAULT false,
    replaced       boolean NOT NULL DEFAULT false, -- Nomad made a second allocation for it
    -- The gate and the runner's own word, written by the API.
    claimed_by     text NOT NULL DEFAULT '',  -- Nomad allocation id that passed the gate
    claim_nonce    text NOT NULL DEFAULT '',  -- hash of the secret of the runner process that passed it
    claimed_at     timestamptz,
    token_hash     bytea UNIQUE,
    address        text NOT NULL DEFAULT '',
    ports          jsonb NOT NULL DEFAULT '{}',
    arrived_at     timestamptz,               -- at the rendezvous
    daemon         boolean NOT NULL DEFAULT false,
    exited_at      timestamptz,
    exit_code      int,
    exit_reason    text NOT NULL DEFAULT '',
    stopped        boolean NOT NULL DEFAULT false, -- ended because Nomad ended its runner
    logs_done      boolean NOT NULL DEFAULT false,
    PRIMARY KEY (allocation_id, rank)
);

-- Nodes of Nomad as the leader last saw them.
CREATE TABLE nodes (
    id         text PRIMARY KEY,
    name       text NOT NULL,
    address    text NOT NULL DEFAULT '',
    node_pool  text NOT NULL DEFAULT 'default',
    datacenter text NOT NULL DEFAULT '',
    version    text NOT NULL DEFAULT '',
    status     text NOT NULL,               -- ready, down, disconnected, initializing
    eligible   boolean NOT NULL,
    draining   boolean NOT NULL,
    drain_deadline timestamptz,
    inventory  jsonb NOT NULL,              -- sched.Node: devices, cores, memory, what others hold
    registered_at timestamptz NOT NULL DEFAULT now(),
    seen_at    timestamptz NOT NULL DEFAULT now(),
    -- Intent.
    enabled    boolean NOT NULL DEFAULT true,
    drain_wanted boolean NOT NULL DEFAULT false
);

-- The search's input: append-only, gapless per experiment.
CREATE TABLE search_counters (
    experiment_id int PRIMARY KEY REFERENCES experiments ON DELETE CASCADE,
    next          bigint NOT NULL DEFAULT 1
);
CREATE TABLE search_events (
    experiment_id int NOT NULL REFERENCES experiments ON DELETE CASCADE,
    seq           bigint NOT NULL,
    kind          text NOT NULL CHECK (kind IN ('validated', 'exited')),
    trial         int NOT NULL,             -- trials.number
    body          jsonb NOT NULL,
    at            timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (experiment_id, seq)
);

-- What the master has to tell its operators, kept small.
CREATE TABLE master_logs (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      timestamptz NOT NULL DEFAULT now(),
    level   text NOT NULL,
    message text NOT NULL
);
