-- The tables of the master, by noun. PostgreSQL stores intent (what users want) and facts (what has happened).
-- Each column has one writer, or a comment names its writers: the API writes intent and what tasks report, the
-- control loop ("the loop") writes states. Constraints state what must always hold.

-- Cluster and masters ---------------------------------------------------------------------------------------

CREATE TABLE cluster (
    one         boolean PRIMARY KEY DEFAULT true CHECK (one),
    id          uuid NOT NULL DEFAULT gen_random_uuid(),
    created_at  timestamptz NOT NULL DEFAULT now(),
    nomad_index bigint NOT NULL DEFAULT 0,      -- the loop: the highest index of a consistent answer of Nomad. After a lower one, Nomad was restored from an older state
    alarm       text NOT NULL DEFAULT '',       -- the loop: why it does not trust Nomad, a sentence for operators; '' if it does
    trust       boolean NOT NULL DEFAULT false, -- the API, when an administrator confirms a loss; the loop ends it
    -- When a master that uses roles gave the admins of basic mode the role ClusterAdmin; NULL while no master
    -- uses roles. A master writes it at its start.
    roles_since timestamptz
);
INSERT INTO cluster DEFAULT VALUES;

-- Further regions of Nomad, each with its own servers. What the loop knows of the master's own region is in
-- the table cluster, and the name of that region is '' here.
CREATE TABLE regions (
    name        text PRIMARY KEY,              -- the loop, from the configuration, when it begins to lead
    nomad_index bigint NOT NULL DEFAULT 0,     -- as in cluster
    alarm       text NOT NULL DEFAULT '',      -- as in cluster
    trust       boolean NOT NULL DEFAULT false -- as in cluster
);

-- The lease of the leader. term is a key column, so an election, which updates a key, waits for the FOR KEY SHARE
-- of a leader's running transactions, and a renewal does not.
CREATE TABLE leader (
    name       text PRIMARY KEY,
    holder     text NOT NULL,
    address    text NOT NULL DEFAULT '',
    term       bigint NOT NULL,
    expires_at timestamptz NOT NULL,
    UNIQUE (name, term)
);

-- What the masters report to operators, kept small.
CREATE TABLE master_logs (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      timestamptz NOT NULL DEFAULT now(),
    level   text NOT NULL,
    message text NOT NULL
);

-- The jobs of pools as Nomad parsed them, by the SHA-256 of their source, so that a master also starts while
-- Nomad does not answer. A master that reads the source again renews used_at.
CREATE TABLE pool_jobs (
    sum     text PRIMARY KEY,
    parsed  jsonb NOT NULL,
    used_at timestamptz NOT NULL DEFAULT now()
);

-- Users and sessions ----------------------------------------------------------------------------------------

CREATE TABLE users (
    id            int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    username      text NOT NULL UNIQUE CHECK (username = lower(username) AND username <> ''),
    display_name  text NOT NULL DEFAULT '',
    password_hash text NOT NULL DEFAULT '',       -- of what the client sends; '' is a blank password
    admin         boolean NOT NULL DEFAULT false,
    active        boolean NOT NULL DEFAULT true,
    remote        boolean NOT NULL DEFAULT false,
    agent_user    jsonb,                          -- {user, uid, group, gid} that tasks run as
    created_at    timestamptz NOT NULL DEFAULT now(),
    modified_at   timestamptz NOT NULL DEFAULT now(),
    last_auth_at  timestamptz,
    -- A new password and a deactivation begin another epoch of the user's sessions: what a session of an earlier
    -- epoch started acts in the user's name no more.
    session_epoch int NOT NULL DEFAULT 0,
    -- The user is a program, without a password and without an identity at a provider; it signs in with access
    -- tokens alone. The API writes it when it creates the user, and it never changes.
    service       boolean NOT NULL DEFAULT false,
    CONSTRAINT users_service CHECK (NOT service OR password_hash = '' AND NOT remote AND NOT admin)
);
INSERT INTO users (username, admin) VALUES ('admin', true), ('determined', false);

-- What users' pages and programs store for them. The API writes it.
CREATE TABLE user_settings (
    user_id      int NOT NULL REFERENCES users ON DELETE CASCADE,
    storage_path text NOT NULL,
    key          text NOT NULL,
    value        text NOT NULL,
    PRIMARY KEY (user_id, storage_path, key)
);

-- Sessions, and access tokens, which are sessions that programs keep. The API writes them. expires_at decides
-- whether one is valid.
CREATE TABLE sessions (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id         int NOT NULL REFERENCES users ON DELETE CASCADE,
    token_hash      bytea NOT NULL UNIQUE,          -- sha256; the token itself is stored nowhere
    allocation_id   text,                           -- of a session for an attempt of the user's: it ends with the attempt
    allocation_rank int,                            -- and for which of its members
    created_at      timestamptz NOT NULL DEFAULT now(),
    expires_at      timestamptz NOT NULL,           -- of a revoked one: the moment of the revocation
    is_token        boolean NOT NULL DEFAULT false,
    description     text NOT NULL DEFAULT '' CHECK (char_length(description) <= 200),
    read_only       boolean NOT NULL DEFAULT false,
    token_expiry    timestamptz,                    -- of a token: what its maker asked for; NULL: never
    revoked_at      timestamptz,
    last_used_at    timestamptz,                    -- to the hour
    -- Where the session comes from, for the users who list their own; written when the session begins.
    address         text NOT NULL DEFAULT '' CHECK (char_length(address) <= 64),
    agent           text NOT NULL DEFAULT '' CHECK (char_length(agent) <= 200), -- the program, as it names itself
    issuer          text CHECK (char_length(issuer) <= 500),                    -- of the identity provider; NULL: a password
    sid             text CHECK (char_length(sid) <= 200)                        -- of the session at the provider; NULL: unknown
);
CREATE INDEX sessions_allocation ON sessions (allocation_id) WHERE allocation_id IS NOT NULL;
CREATE INDEX sessions_user ON sessions (user_id);
CREATE INDEX sessions_expiry ON sessions (expires_at);
CREATE INDEX sessions_tokens ON sessions (user_id) WHERE is_token;
CREATE INDEX sessions_issuer ON sessions (issuer, sid) WHERE issuer IS NOT NULL;

-- Tokens with which masters ask identity providers about users who are signed in. The API stores them when the
-- session begins; the master that has claimed the user's identity replaces and deletes them.
CREATE TABLE session_grants (
    session_id bigint PRIMARY KEY REFERENCES sessions ON DELETE CASCADE,
    provider   text NOT NULL CHECK (char_length(provider) <= 64),    -- its name in the configuration
    tokens     bytea NOT NULL CHECK (octet_length(tokens) <= 65536), -- encrypted
    checked_at timestamptz NOT NULL DEFAULT now()
);

-- Accounts at identity providers that sign in as users here. The API writes them at the first sign-in; the
-- issuer and the subject together never change and never name another person.
CREATE TABLE identities (
    issuer     text NOT NULL,
    subject    text NOT NULL,
    user_id    int NOT NULL REFERENCES users ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- When a master asks about the user next, and what the last answer was. A sign-in writes these columns, and
    -- the master that has claimed the row: a claim moves due_at and increments checks.
    known      bytea,       -- hash of the groups and the mark of admins that were applied last
    due_at     timestamptz, -- NULL: never
    checks     bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (issuer, subject),
    UNIQUE (user_id, issuer)
);
CREATE INDEX identities_due ON identities (due_at);

-- Sign-outs that identity providers have asked for, so that nobody repeats one. The API writes them, and deletes
-- those that are too old to be accepted again.
CREATE TABLE sign_outs (
    issuer     text NOT NULL,
    jti        text NOT NULL CHECK (char_length(jti) <= 200),
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (issuer, jti)
);
CREATE INDEX sign_outs_expire ON sign_outs (expires_at);

-- Sign-ins that are being tried or have failed, by what they are counted for: an address, or an address and a name.
CREATE TABLE login_tries (
    key   text PRIMARY KEY,
    tries int NOT NULL,
    since timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX login_tries_since ON login_tries (since);

-- Accounts that a SCIM client manages. The API writes the rows when the client does.
CREATE TABLE scim_users (
    user_id     int PRIMARY KEY REFERENCES users ON DELETE CASCADE,
    external_id text NOT NULL DEFAULT '' CHECK (char_length(external_id) <= 256),
    attributes  jsonb NOT NULL,                 -- names and addresses as the client sent them
    deactivated boolean NOT NULL DEFAULT false, -- the client deactivated the account, so it may activate it again
    deleted_at  timestamptz,                    -- the client deleted it: the account stays, deactivated
    created_at  timestamptz NOT NULL DEFAULT now(),
    modified_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX scim_users_external ON scim_users (external_id) WHERE external_id <> '';

-- What administrators changed in the configuration of the running masters. The API writes it. A master applies a
-- setting that is newer than its own start, so a master that starts has what its configuration says.
CREATE TABLE settings (
    name    text PRIMARY KEY CHECK (name IN ('log.level', 'log.color')),
    value   text NOT NULL CHECK (char_length(value) BETWEEN 1 AND 100),
    set_at  timestamptz NOT NULL DEFAULT now(),
    user_id int REFERENCES users ON DELETE SET NULL
);

-- What administrators tell everybody, with the time in which it is shown. There is one at most: setting another
-- replaces it. The API writes it.
CREATE TABLE cluster_message (
    one        boolean PRIMARY KEY DEFAULT true CHECK (one),
    message    text NOT NULL CHECK (char_length(message) BETWEEN 1 AND 250),
    start_time timestamptz NOT NULL,
    end_time   timestamptz CHECK (end_time > start_time),
    created_at timestamptz NOT NULL DEFAULT now(),
    user_id    int REFERENCES users ON DELETE SET NULL
);

-- The audit trail: who did what to which object, from where, with which credential, and with which result. A
-- master inserts a row before the call begins, so nothing happens without a row, and completes the row when the
-- call has ended; a row without an end belongs to a call whose master ended first. Only the master that inserted
-- a row changes it. The rows name users and objects without foreign keys, because they outlive them.
CREATE TABLE audit (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at           timestamptz NOT NULL DEFAULT now(),
    ended_at     timestamptz,
    last_at      timestamptz,               -- of the last repetition
    times        int NOT NULL DEFAULT 1,    -- reads and rejected calls within a minute are one row
    user_id      int,                       -- NULL: nobody signed in
    username     text NOT NULL,
    credential   text NOT NULL,             -- session 12, access token 7, task 5.1, or none
    address      text NOT NULL,
    method       text NOT NULL,
    path         text NOT NULL,             -- as the table of endpoints has it
    verb         text NOT NULL,
    kind         text NOT NULL,
    object       text NOT NULL DEFAULT '',  -- what the path names, or the id of what was created
    workspace_id int,
    names        jsonb,                     -- what the body names
    status       int,                       -- HTTP
    error        text NOT NULL DEFAULT ''
);
CREATE INDEX audit_at ON audit (at);
CREATE INDEX audit_user ON audit (user_id, id);
CREATE INDEX audit_object ON audit (kind, object, id);

-- Workspaces and projects -----------------------------------------------------------------------------------

-- The order in which projects, models and their versions change, for the clients that follow them. The triggers
-- are the only writers of the columns seq: each change of what such a client is sent gives the row the next
-- number, and wakes the masters.
CREATE SEQUENCE updates;

CREATE FUNCTION number_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.seq = nextval('updates');
    RETURN NEW;
END $$;

CREATE FUNCTION notify_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('det', 'updates');
    RETURN NULL;
END $$;

-- The API writes workspaces and projects. The rows that are deleted with all that they contain are archived too,
-- so that nothing new begins in them.
CREATE TABLE workspaces (
    id           int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name         text NOT NULL UNIQUE CHECK (name <> ''),
    owner_id     int NOT NULL REFERENCES users,
    archived     boolean NOT NULL DEFAULT false,
    immutable    boolean NOT NULL DEFAULT false,
    settings     jsonb NOT NULL DEFAULT '{}', -- default pools, checkpoint storage, agent user
    created_at   timestamptz NOT NULL DEFAULT now(),
    deleting_at  timestamptz,                 -- when the deletion began
    delete_error text NOT NULL DEFAULT ''     -- why the deletion was given up; asking again begins anew
);
CREATE INDEX workspaces_deleting ON workspaces (id) WHERE deleting_at IS NOT NULL;

CREATE TABLE projects (
    id           int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace_id int NOT NULL REFERENCES workspaces,
    name         text NOT NULL CHECK (name <> ''),
    key          text NOT NULL UNIQUE,
    description  text NOT NULL DEFAULT '',
    owner_id     int NOT NULL REFERENCES users,
    archived     boolean NOT NULL DEFAULT false,
    immutable    boolean NOT NULL DEFAULT false,
    notes        jsonb NOT NULL DEFAULT '[]',
    created_at   timestamptz NOT NULL DEFAULT now(),
    deleting_at  timestamptz,                 -- as in workspaces
    delete_error text NOT NULL DEFAULT '',    -- as in workspaces
    seq          bigint NOT NULL DEFAULT nextval('updates'),
    UNIQUE (workspace_id, name)
);
CREATE INDEX projects_deleting ON projects (id) WHERE deleting_at IS NOT NULL;
CREATE TRIGGER projects_update BEFORE UPDATE OF workspace_id, name, key, description, owner_id, archived, notes, deleting_at, delete_error
    ON projects FOR EACH ROW EXECUTE FUNCTION number_update();
CREATE TRIGGER projects_notify AFTER INSERT OR UPDATE OR DELETE ON projects FOR EACH STATEMENT EXECUTE FUNCTION notify_update();

INSERT INTO workspaces (name, owner_id, immutable) SELECT 'Uncategorized', id, true FROM users WHERE username = 'admin';
INSERT INTO projects (workspace_id, name, key, owner_id, immutable)
    SELECT w.id, 'Uncategorized', 'UNCATEGORIZED', w.owner_id, true FROM workspaces w;

-- The API writes the pins of users, and when a user last looked at a project.
CREATE TABLE workspace_pins (
    user_id      int NOT NULL REFERENCES users ON DELETE CASCADE,
    workspace_id int NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    pinned_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, workspace_id)
);

CREATE TABLE project_visits (
    user_id    int NOT NULL REFERENCES users ON DELETE CASCADE,
    project_id int NOT NULL REFERENCES projects ON DELETE CASCADE,
    at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, project_id)
);
CREATE INDEX project_visits_project ON project_visits (project_id);

-- Templates: configurations that others are laid over. The text is stored as it was written, so that an error
-- message can show the line.
CREATE TABLE templates (
    name         text PRIMARY KEY CHECK (name <> ''),
    workspace_id int NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    owner_id     int NOT NULL REFERENCES users,
    source       text NOT NULL,            -- YAML
    config       jsonb NOT NULL CHECK (jsonb_typeof(config) = 'object'),
    created_at   timestamptz NOT NULL DEFAULT now(),
    modified_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX templates_workspace ON templates (workspace_id);

-- Config policies: what administrators lay over the configurations of users, and limits. The API writes them.
CREATE TABLE config_policies (
    id           int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace_id int REFERENCES workspaces ON DELETE CASCADE, -- NULL: of the cluster
    workload     text NOT NULL CHECK (workload IN ('EXPERIMENT', 'NTSC')),
    source       text NOT NULL,                               -- YAML or JSON, as it was written
    set_by       int REFERENCES users ON DELETE SET NULL,
    set_at       timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX config_policies_scope ON config_policies (coalesce(workspace_id, 0), workload);

-- Pools that only some workspaces may use; a pool without a row is open to all. The API writes the rows; the loop
-- reads them.
CREATE TABLE pool_bindings (
    pool         text NOT NULL,
    workspace_id int NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    PRIMARY KEY (pool, workspace_id)
);
CREATE INDEX pool_bindings_workspace ON pool_bindings (workspace_id);

-- Quotas: how many slots a workspace, a project or a user may hold at the same time, or how many slot-hours they
-- may use in a period. The API writes them; the leader and the API measure what was used.
CREATE TABLE quotas (
    id           int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace_id int REFERENCES workspaces ON DELETE CASCADE, -- with user_id: of the user in this workspace
    project_id   int REFERENCES projects ON DELETE CASCADE,
    user_id      int REFERENCES users ON DELETE CASCADE,
    pool         text NOT NULL DEFAULT '',                    -- '': all pools
    measure      text NOT NULL CHECK (measure IN ('slots', 'slot_hours')),
    period       text NOT NULL CHECK (CASE measure WHEN 'slots' THEN period = '' ELSE period IN ('day', 'week', 'month', 'total') END),
    soft         int CHECK (soft >= 0),
    hard         int CHECK (hard >= 0),
    set_at       timestamptz NOT NULL DEFAULT now(),
    created_at   timestamptz NOT NULL DEFAULT now(),          -- from when on period total counts
    used_seconds float8 NOT NULL DEFAULT 0,                   -- slot-seconds from used_since to measured_at
    used_since   timestamptz,
    measured_at  timestamptz,
    CHECK (soft IS NOT NULL OR hard IS NOT NULL),
    CHECK (soft <= hard),
    CHECK (CASE WHEN project_id IS NULL THEN workspace_id IS NOT NULL OR user_id IS NOT NULL ELSE workspace_id IS NULL AND user_id IS NULL END)
);
CREATE UNIQUE INDEX quotas_key ON quotas (coalesce(workspace_id, 0), coalesce(project_id, 0), coalesce(user_id, 0), pool, measure, period);
CREATE INDEX quotas_project ON quotas (project_id) WHERE project_id IS NOT NULL;
CREATE INDEX quotas_user ON quotas (user_id) WHERE user_id IS NOT NULL;

-- Groups and roles ------------------------------------------------------------------------------------------

-- Groups of users and the roles of users and groups. The API writes all of it. What a role allows is in
-- master/auth (roles.go), and not here.
CREATE TABLE groups (
    id          int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        text NOT NULL CONSTRAINT groups_name UNIQUE CHECK (name <> '' AND char_length(name) <= 200),
    created_at  timestamptz NOT NULL DEFAULT now(),
    -- Where the group comes from: '' if administrators made it here, 'oidc:' and the name of an identity provider
    -- if a sign-in made it, 'scim' if a SCIM client made it.
    origin      text NOT NULL DEFAULT '' CHECK (char_length(origin) <= 100),
    -- Of a SCIM client's group; written when the client does.
    external_id text NOT NULL DEFAULT '' CHECK (char_length(external_id) <= 256),
    modified_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE group_members (
    group_id int NOT NULL REFERENCES groups ON DELETE CASCADE,
    user_id  int NOT NULL REFERENCES users ON DELETE CASCADE,
    origin   text NOT NULL DEFAULT '' CHECK (char_length(origin) <= 100), -- as in groups
    PRIMARY KEY (group_id, user_id)
);
CREATE INDEX group_members_user ON group_members (user_id);

CREATE TABLE role_assignments (
    id           int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    role_id      int NOT NULL CHECK (role_id BETWEEN 1 AND 10),
    user_id      int REFERENCES users ON DELETE CASCADE,
    group_id     int REFERENCES groups ON DELETE CASCADE,
    workspace_id int REFERENCES workspaces ON DELETE CASCADE, -- NULL: everywhere
    created_at   timestamptz NOT NULL DEFAULT now(),
    CHECK (user_id IS NULL OR group_id IS NULL)               -- without both: everybody has the role
);
CREATE UNIQUE INDEX role_assignments_user ON role_assignments (user_id, role_id, coalesce(workspace_id, 0)) WHERE user_id IS NOT NULL;
CREATE UNIQUE INDEX role_assignments_group ON role_assignments (group_id, role_id, coalesce(workspace_id, 0)) WHERE group_id IS NOT NULL;
CREATE UNIQUE INDEX role_assignments_everybody ON role_assignments (role_id, coalesce(workspace_id, 0)) WHERE user_id IS NULL AND group_id IS NULL;
CREATE INDEX role_assignments_workspace ON role_assignments (workspace_id);

-- Contexts --------------------------------------------------------------------------------------------------

-- The users' code, stored once however often it is submitted. The API writes it.
CREATE TABLE contexts (
    hash       bytea PRIMARY KEY, -- sha256 of the sorted file list and contents
    size       bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    owner_id   int NOT NULL       -- who submitted it last: until an experiment or a task has it, it counts for this user
);
CREATE INDEX contexts_owner ON contexts (owner_id, created_at);

-- The code in parts, so that neither a master nor the database ever holds all of it in memory.
CREATE TABLE context_parts (
    hash bytea NOT NULL REFERENCES contexts ON DELETE CASCADE,
    n    int   NOT NULL CHECK (n >= 0),
    data bytea NOT NULL CHECK (octet_length(data) > 0),
    PRIMARY KEY (hash, n)
);
ALTER TABLE context_parts ALTER COLUMN data SET STORAGE EXTERNAL; -- compressed already

-- Experiments -----------------------------------------------------------------------------------------------

-- An entry of an index has at most a third of a page; labels may be longer. The index has the beginnings of labels,
-- and queries compare the labels themselves too.
CREATE FUNCTION label_keys(labels text[]) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(array_agg(left(l, 128)), '{}') FROM unnest(labels) AS l
$$;

-- What a configuration says about webhooks in a bounded number of bytes: the ids, and the MD5 of the names, which may be long. A
-- configuration has at most 200 of each now; before, it could have 1,000.
CREATE FUNCTION hook_ids(config jsonb) RETURNS int[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT array_agg(DISTINCT v::text::numeric::int) FROM (SELECT v FROM jsonb_array_elements(
        CASE jsonb_typeof(config #> '{integrations,webhooks,webhook_id}') WHEN 'array' THEN config #> '{integrations,webhooks,webhook_id}' ELSE '[]' END) v LIMIT 1000) x
    WHERE CASE jsonb_typeof(v) WHEN 'number' THEN v::text::numeric BETWEEN 1 AND 2147483647 AND v::text::numeric = trunc(v::text::numeric) ELSE false END
$$;
CREATE FUNCTION hook_names(config jsonb) RETURNS uuid[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT array_agg(DISTINCT md5(v #>> '{}')::uuid) FROM (SELECT v FROM jsonb_array_elements(
        CASE jsonb_typeof(config #> '{integrations,webhooks,webhook_name}') WHEN 'array' THEN config #> '{integrations,webhooks,webhook_name}' ELSE '[]' END) v LIMIT 1000) x
    WHERE jsonb_typeof(v) = 'string'
$$;

-- The unit of a searcher's length, if the configuration has one: programs may report a metric with this name.
CREATE FUNCTION length_unit(config jsonb) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT jsonb_object_keys(length) FROM (SELECT coalesce(nullif(config #> '{searcher,max_length}', 'null'), config #> '{searcher,length_per_round}') AS length) l
    WHERE jsonb_typeof(length) = 'object' LIMIT 1
$$;

CREATE TABLE experiments (
    id              int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id          uuid NOT NULL DEFAULT gen_random_uuid(),
    owner_id        int NOT NULL REFERENCES users,
    project_id      int NOT NULL REFERENCES projects,
    parent_id       int REFERENCES experiments ON DELETE SET NULL,
    external_id     text UNIQUE,
    unmanaged       boolean NOT NULL DEFAULT false,
    -- Submitted. What a user may change later is in columns; the rest stays in config.
    config          jsonb NOT NULL,             -- merged and complete
    original_config text NOT NULL,              -- verbatim
    context_hash    bytea REFERENCES contexts,
    seed            bigint NOT NULL,
    search_config   jsonb,                      -- with what its search began, if a later configuration differs; NULL: config. What changed since is in the events of the search
    warm_start      uuid,                       -- the checkpoint from which its trials start, which searcher.source_trial_id or source_checkpoint_uuid meant at submission
    -- The template that the experiment was made with, as it was then: a fork is made of the same two documents.
    template        text NOT NULL DEFAULT '',
    template_source text NOT NULL DEFAULT '',
    -- A client that lost the answer to a creation repeats it with the same key, which the client chose: the answer is then
    -- the row that the first request made. The API writes it.
    creation_key    text CHECK (length(creation_key) BETWEEN 1 AND 200),
    session_epoch   int NOT NULL DEFAULT 0,     -- the epoch (users) of the session that started it
    -- What the search and the configuration need of a leader's memory, in bytes: an estimate from above (search.Memory). The
    -- API writes it.
    memory          bigint NOT NULL DEFAULT 0 CHECK (memory >= 0),
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
    queue_time      timestamptz,                -- the job stands among those of its priority as if it had been queued then
    -- How long the lines of its tasks are kept after their end, before retention_policy in config and the
    -- master's configuration; -1: for ever; NULL: as the configuration says.
    log_retention_days smallint CHECK (log_retention_days >= -1),
    -- Fact, written by the loop.
    state           text NOT NULL DEFAULT 'PAUSED' CHECK (state IN ('ACTIVE', 'PAUSED', 'STOPPING_COMPLETED',
        'STOPPING_CANCELED', 'STOPPING_KILLED', 'STOPPING_ERROR', 'COMPLETED', 'CANCELED', 'ERROR', 'DELETING', 'DELETE_FAILED')),
    error           text NOT NULL DEFAULT '',   -- why it ended in ERROR
    progress        double precision,
    started_at      timestamptz NOT NULL DEFAULT now(),
    ended_at        timestamptz,
    best_trial_id   int,
    best_metric     double precision,
    -- How often a user asked to continue the experiment after its end (the API), and how often the loop continued it.
    -- They differ until the loop has carried out a request.
    continues       int NOT NULL DEFAULT 0,
    continued       int NOT NULL DEFAULT 0,
    continued_at    timestamptz,                -- the API: when a user asked last. What logs said before counts against nobody
    -- How often a user asked to apply the policy of checkpoints (the API), and up to which of these requests it was applied (the
    -- loop); NULL: the experiment has ended since.
    gc_requests     int NOT NULL DEFAULT 0,
    gc_applied      int DEFAULT 0,
    gc_retry_at     timestamptz,                -- the loop: when to look again, because something still needed files that the policy does not keep
    swept_at        timestamptz,                -- the loop: when the leader last decided about a sweep of the experiment; NULL: never
    -- How often a user asked to delete it (the API), and which of these requests has failed (the loop).
    delete_requests int NOT NULL DEFAULT 0,
    delete_failed   int NOT NULL DEFAULT 0,
    -- Generated: what lists and the loop need of config, which PostgreSQL would otherwise unpack for every row.
    searcher        text GENERATED ALWAYS AS (config #>> '{searcher,name}') STORED,
    metric          text GENERATED ALWAYS AS (config #>> '{searcher,metric}') STORED,
    -- the metric that measures the time of a search: that which the configuration names, or the unit of a length
    time_metric     text GENERATED ALWAYS AS (coalesce(config #>> '{searcher,time_metric}', length_unit(config))) STORED,
    smaller_is_better boolean NOT NULL GENERATED ALWAYS AS (coalesce((config #>> '{searcher,smaller_is_better}')::boolean, true)) STORED,
    storage_type    text GENERATED ALWAYS AS (config #>> '{checkpoint_storage,type}') STORED,
    proxy_ports     jsonb GENERATED ALWAYS AS (config #> '{environment,proxy_ports}') STORED,
    max_restarts    jsonb GENERATED ALWAYS AS (config -> 'max_restarts') STORED,
    preemption_timeout jsonb GENERATED ALWAYS AS (config -> 'preemption_timeout') STORED,
    -- for how long the configuration says that logs are kept
    config_log_days int GENERATED ALWAYS AS (
        CASE jsonb_typeof(config #> '{retention_policy,log_retention_days}') WHEN 'number' THEN (config #> '{retention_policy,log_retention_days}')::integer END) STORED,
    -- which webhooks receive its events: integrations.webhooks
    hooks_excluded  boolean NOT NULL GENERATED ALWAYS AS (coalesce(config #> '{integrations,webhooks,exclude}' = 'true', false)) STORED,
    hook_ids        int[] GENERATED ALWAYS AS (hook_ids(config)) STORED,
    hook_names      uuid[] GENERATED ALWAYS AS (hook_names(config)) STORED,
    -- the configuration names no workspace: messages do not name it either
    unnamed         boolean NOT NULL GENERATED ALWAYS AS (coalesce(config ->> 'workspace', '') = '') STORED,
    config_bytes    int NOT NULL GENERATED ALWAYS AS (octet_length(config::text)) STORED,
    -- the bytes of what a list has of an experiment and a user has written, without the labels; pages are limited by it
    text_bytes      int NOT NULL GENERATED ALWAYS AS (
        octet_length(name) + octet_length(description) + octet_length(notes) + octet_length(original_config) + octet_length(config::text)) STORED,
    CHECK ((state IN ('COMPLETED', 'CANCELED', 'ERROR')) = (ended_at IS NOT NULL) OR state IN ('DELETING', 'DELETE_FAILED'))
);
-- Lists are filtered and sorted by the narrow columns; the wide ones are stored apart.
ALTER TABLE experiments SET (toast_tuple_target = 256);
CREATE INDEX experiments_project ON experiments (project_id, id) INCLUDE (archived);
CREATE INDEX experiments_owner ON experiments (owner_id, id) INCLUDE (archived);
CREATE INDEX experiments_started ON experiments (started_at, id);
-- Most experiments have no label. They are not in the index, so that no change of them has to compute its key.
CREATE INDEX experiments_labels ON experiments USING gin (label_keys(labels)) WHERE labels <> '{}';
CREATE UNIQUE INDEX experiments_creation_key ON experiments (owner_id, creation_key) WHERE creation_key IS NOT NULL;
CREATE INDEX experiments_live ON experiments (id) WHERE state NOT IN ('COMPLETED', 'CANCELED', 'ERROR', 'DELETE_FAILED');
CREATE INDEX experiments_continuing ON experiments (id) WHERE continues > continued;
CREATE INDEX experiments_deleted ON experiments (id) WHERE desired = 'deleted';
CREATE INDEX experiments_gc ON experiments (id) WHERE gc_applied IS DISTINCT FROM gc_requests OR gc_retry_at IS NOT NULL;
CREATE INDEX experiments_unswept ON experiments (ended_at) WHERE ended_at IS NOT NULL AND NOT unmanaged AND (swept_at IS NULL OR swept_at < ended_at);
CREATE INDEX experiments_parent ON experiments (parent_id) WHERE parent_id IS NOT NULL; -- for the foreign key

-- The hyperparameters of an experiment, one in a row, groups flattened with dots: what values each can have. low and
-- high are the bounds; numbers is NULL for a range, else all values that are numbers; texts has all others. To read
-- them from config would unpack it for every experiment that a search looks at. Triggers write the table.
CREATE TABLE experiment_hparams (
    experiment_id int NOT NULL REFERENCES experiments ON DELETE CASCADE,
    name          text NOT NULL,
    low           double precision,
    high          double precision,
    numbers       double precision[],
    texts         text[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (experiment_id, name)
);
CREATE INDEX experiment_hparams_name ON experiment_hparams (name, experiment_id) INCLUDE (low, high);

-- An exponent's power, kept within the numbers that a double can store.
CREATE FUNCTION bounded_power(base double precision, exponent double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN base IS NULL OR base <= 0 OR exponent IS NULL THEN NULL
        WHEN abs(exponent) > 1e6 OR abs(exponent * log(base)) > 300 THEN CASE WHEN (exponent > 0) = (base > 1) THEN 1e300 ELSE 0 END
        ELSE power(base, exponent) END
$$;

CREATE FUNCTION hparams_of(config jsonb) RETURNS TABLE (name text, low double precision, high double precision, numbers double precision[], texts text[])
LANGUAGE sql IMMUTABLE AS $$
    WITH RECURSIVE tree (name, v) AS (
        SELECT h.key, h.value
        FROM jsonb_each(CASE jsonb_typeof(config->'hyperparameters') WHEN 'object' THEN config->'hyperparameters' ELSE '{}' END) h
        UNION ALL
        SELECT t.name || '.' || h.key, h.value
        FROM tree t, jsonb_each(CASE WHEN jsonb_typeof(t.v) = 'object' AND jsonb_typeof(t.v->'type') IS DISTINCT FROM 'string' THEN t.v ELSE '{}' END) h
    ), leaf AS (
        SELECT t.name, t.v, t.v->>'type' AS type, CASE t.v->>'type'
            WHEN 'const' THEN jsonb_build_array(t.v->'val')
            WHEN 'categorical' THEN CASE jsonb_typeof(t.v->'vals') WHEN 'array' THEN t.v->'vals' ELSE '[]' END
            ELSE '[]' END AS vals
        FROM tree t WHERE jsonb_typeof(t.v->'type') = 'string'
    ), known AS (
        SELECT l.name, l.type, l.v,
            ARRAY(SELECT x::double precision FROM jsonb_array_elements(l.vals) x WHERE jsonb_typeof(x) = 'number') AS numbers,
            ARRAY(SELECT x #>> '{}' FROM jsonb_array_elements(l.vals) x WHERE jsonb_typeof(x) NOT IN ('number', 'null')) AS texts
        FROM leaf l
    )
    SELECT DISTINCT ON (k.name) k.name,
        CASE k.type WHEN 'log' THEN bounded_power((k.v->>'base')::double precision, (k.v->>'minval')::double precision)
            WHEN 'int' THEN (k.v->>'minval')::double precision WHEN 'double' THEN (k.v->>'minval')::double precision
            ELSE (SELECT min(x) FROM unnest(k.numbers) x) END,
        CASE k.type WHEN 'log' THEN bounded_power((k.v->>'base')::double precision, (k.v->>'maxval')::double precision)
            WHEN 'int' THEN (k.v->>'maxval')::double precision WHEN 'double' THEN (k.v->>'maxval')::double precision
            ELSE (SELECT max(x) FROM unnest(k.numbers) x) END,
        CASE WHEN k.type IN ('const', 'categorical') THEN k.numbers END, k.texts
    FROM known k ORDER BY k.name
$$;

CREATE FUNCTION experiments_keep_hparams() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        DELETE FROM experiment_hparams h WHERE h.experiment_id = NEW.id;
    END IF;
    INSERT INTO experiment_hparams (experiment_id, name, low, high, numbers, texts)
        SELECT NEW.id, h.name, h.low, h.high, h.numbers, h.texts FROM hparams_of(NEW.config) h;
    RETURN NULL;
END $$;
CREATE TRIGGER experiments_hparams_made AFTER INSERT ON experiments FOR EACH ROW EXECUTE FUNCTION experiments_keep_hparams();
CREATE TRIGGER experiments_hparams_changed AFTER UPDATE OF config ON experiments FOR EACH ROW
    WHEN (OLD.config->'hyperparameters' IS DISTINCT FROM NEW.config->'hyperparameters') EXECUTE FUNCTION experiments_keep_hparams();

-- The input of a search: append-only, numbered without gaps for each experiment.
CREATE TABLE search_counters (
    experiment_id int PRIMARY KEY REFERENCES experiments ON DELETE CASCADE,
    next          bigint NOT NULL DEFAULT 1
);
CREATE TABLE search_events (
    experiment_id int NOT NULL REFERENCES experiments ON DELETE CASCADE,
    seq           bigint NOT NULL,
    -- left: a trial that was to wait has left its slots. told: a program outside has stated what it wants. continued: the
    -- experiment continues after its end. trial has no meaning with the last two.
    kind          text NOT NULL CHECK (kind IN ('validated', 'exited', 'left', 'told', 'continued')),
    trial         int NOT NULL,             -- trials.number
    body          jsonb NOT NULL,
    at            timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (experiment_id, seq)
);
-- The best validation of an experiment, found without reading them all.
CREATE INDEX search_events_metric ON search_events (experiment_id, ((body->>'metric')::double precision))
    WHERE kind = 'validated' AND body->>'metric' IS NOT NULL;

-- How often in a row attempts of an experiment's trials failed on a node, and whether the node is therefore avoided.
-- The loop writes both.
CREATE TABLE node_failures (
    experiment_id int NOT NULL REFERENCES experiments ON DELETE CASCADE,
    node_id       text NOT NULL,
    node_name     text NOT NULL,
    failures      int NOT NULL CHECK (failures >= 0),
    avoided       boolean NOT NULL DEFAULT false,
    at            timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (experiment_id, node_id)
);

-- Tasks -----------------------------------------------------------------------------------------------------

-- What runs: a trial, a command, a notebook and so on. A task outlives its attempts.
CREATE TABLE tasks (
    id            text PRIMARY KEY,
    type          text NOT NULL CHECK (type IN ('TRIAL', 'COMMAND', 'NOTEBOOK', 'SHELL', 'TENSORBOARD', 'CHECKPOINT_GC', 'GENERIC')),
    job_id        uuid NOT NULL,
    owner_id      int NOT NULL REFERENCES users,
    workspace_id  int REFERENCES workspaces,   -- NULL: the workspace is deleted
    -- A task of a deleted workspace is shown for a day to who asks for it by its id, as in Determined. No list contains it.
    deleted_workspace_id int,
    experiment_id int REFERENCES experiments ON DELETE CASCADE,
    name          text NOT NULL,
    config        jsonb NOT NULL DEFAULT '{}', -- a trial has that of its experiment
    context_hash  bytea REFERENCES contexts,
    creation_key  text CHECK (length(creation_key) BETWEEN 1 AND 200), -- as in experiments
    session_epoch int NOT NULL DEFAULT 0,      -- as in experiments, which has that of trials
    created_at    timestamptz NOT NULL DEFAULT now(),
    -- Generic tasks: programs that users start in trees, pause and resume.
    parent_id     text REFERENCES tasks ON DELETE SET NULL,
    forked_from   text,                        -- that task may be deleted
    no_pause      boolean NOT NULL DEFAULT false,
    submitted     text NOT NULL DEFAULT '',    -- the configuration as it was submitted, as JSON
    -- Intent, written by the API.
    desired       text NOT NULL DEFAULT 'run' CONSTRAINT tasks_desired_check CHECK (desired IN ('run', 'pause', 'kill') AND (desired <> 'pause' OR type = 'GENERIC')),
    kill_reason   text NOT NULL DEFAULT '',    -- why somebody killed the task
    pool          text NOT NULL,
    slots         int NOT NULL CHECK (slots >= 0),
    priority      int NOT NULL DEFAULT 42 CHECK (priority BETWEEN 1 AND 99),
    queue_time    timestamptz,                 -- as in experiments
    -- Fact, written by the loop.
    ended_at      timestamptz,
    exit_status   text NOT NULL DEFAULT '',
    unstarted     int NOT NULL DEFAULT 0,      -- attempts in a row that never reached their program
    -- The loop: when its first attempt was queued. All its attempts are queued since then, so that a task keeps its place
    -- in the queue. NULL before the first attempt, and after an end that is taken back.
    queued_at     timestamptz,
    -- What the loop reads of all live tasks in each cycle, and what lists and the proxy read: a configuration may have a megabyte,
    -- which PostgreSQL unpacks whole for each field that a query reads of it.
    nomad         jsonb GENERATED ALWAYS AS (NULLIF(config #> '{environment,nomad}', 'null')) STORED,
    gpu           jsonb GENERATED ALWAYS AS (NULLIF(config #> '{resources,gpu}', 'null')) STORED,
    cpus          float8 NOT NULL GENERATED ALWAYS AS (coalesce((config #>> '{resources,cpus}')::float8, 0)) STORED,
    memory        bigint NOT NULL GENERATED ALWAYS AS (coalesce((config #>> '{resources,memory}')::bigint, 0)) STORED,
    several       boolean NOT NULL GENERATED ALWAYS AS (coalesce(config #>> '{resources,is_single_node}' = 'false', false)) STORED,
    mounts_secrets boolean NOT NULL GENERATED ALWAYS AS (coalesce(jsonb_typeof(config #> '{environment,secrets}') = 'array' AND config #> '{environment,secrets}' <> '[]', false)) STORED,
    proxy_ports   jsonb GENERATED ALWAYS AS (config #> '{environment,proxy_ports}') STORED,
    idle_timeout  text GENERATED ALWAYS AS (config ->> 'idle_timeout') STORED,
    config_bytes  int NOT NULL GENERATED ALWAYS AS (octet_length(config::text)) STORED, -- of a trial: 2, see its experiment
    CONSTRAINT tasks_workspace CHECK (workspace_id IS NOT NULL OR deleted_workspace_id IS NOT NULL AND ended_at IS NOT NULL AND experiment_id IS NULL)
);
CREATE INDEX tasks_live ON tasks (id) WHERE ended_at IS NULL;
CREATE INDEX tasks_experiment ON tasks (experiment_id);
CREATE INDEX tasks_type ON tasks (type, created_at) WHERE type <> 'TRIAL';
CREATE INDEX tasks_owner ON tasks (owner_id); -- for the sizes of an owner's logs
CREATE INDEX tasks_workspace_index ON tasks (workspace_id) WHERE experiment_id IS NULL;
CREATE INDEX tasks_of_deleted_workspaces ON tasks (ended_at) WHERE workspace_id IS NULL;
CREATE INDEX tasks_parent ON tasks (parent_id) WHERE parent_id IS NOT NULL;
CREATE UNIQUE INDEX tasks_creation_key ON tasks (owner_id, creation_key) WHERE creation_key IS NOT NULL;

-- The parts of a trial's task, as answers show them: the task runs from its beginning, as part 0, and part n begins
-- with the n-th continuation of the trial. The loop writes them.
CREATE TABLE task_parts (
    task_id      text NOT NULL REFERENCES tasks ON DELETE CASCADE,
    n            int NOT NULL CHECK (n > 0),
    first_run    int NOT NULL,        -- of its attempts
    first_line   bigint NOT NULL,     -- from which on lines of the log that no attempt wrote belong to it
    began_at     timestamptz NOT NULL DEFAULT now(),
    ended_before timestamptz NOT NULL, -- when the part before it had ended, and how
    exit_before  text NOT NULL,
    PRIMARY KEY (task_id, n)
);

-- Keys of a shell, made with it: one pair for those who log in, one that identifies the shell.
CREATE TABLE shell_keys (
    task_id          text PRIMARY KEY REFERENCES tasks ON DELETE CASCADE,
    private_key      text NOT NULL,           -- PEM; for its owner and admins
    public_key       text NOT NULL,           -- a line of authorized_keys
    host_private_key text NOT NULL,           -- PEM; for the task's runner
    host_public_key  text NOT NULL            -- a line without a name
);

-- What a TensorBoard shows. Experiments and trials may be deleted while it runs, so these are numbers and no references.
CREATE TABLE tensorboards (
    task_id        text PRIMARY KEY REFERENCES tasks ON DELETE CASCADE,
    experiment_ids int[] NOT NULL DEFAULT '{}',
    trial_ids      int[] NOT NULL DEFAULT '{}'
);

-- What admits a browser to one task: a ticket, valid once and for a minute, and the cookie that the browser gets for
-- it. Both end with the session that asked.
CREATE TABLE passes (
    hash       bytea PRIMARY KEY,             -- sha256; the pass itself is stored nowhere
    kind       text NOT NULL CHECK (kind IN ('ticket', 'cookie')),
    task_id    text NOT NULL REFERENCES tasks ON DELETE CASCADE,
    session_id bigint NOT NULL REFERENCES sessions ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,                   -- of a ticket; a cookie lasts as long as its session
    CHECK ((kind = 'ticket') = (expires_at IS NOT NULL))
);
CREATE INDEX passes_session ON passes (session_id);
CREATE INDEX passes_task ON passes (task_id);

-- Trials ----------------------------------------------------------------------------------------------------

CREATE TABLE trials (
    id            int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    experiment_id int NOT NULL REFERENCES experiments ON DELETE CASCADE,
    number        int NOT NULL,             -- the search's own count, from 0
    task_id       text NOT NULL UNIQUE REFERENCES tasks ON DELETE CASCADE,
    hparams       jsonb NOT NULL,
    seed          bigint NOT NULL,
    warm_start    uuid,                     -- the checkpoint it started from, if any
    external_id   text,                     -- the API: an unmanaged program's own name for it
    -- Intent.
    stop_wanted   boolean NOT NULL DEFAULT false, -- the loop, from the search
    kill_wanted   boolean NOT NULL DEFAULT false, -- the API, from a user
    archived      boolean NOT NULL DEFAULT false, -- the API: a run can be archived without its experiment
    log_retention_days smallint CHECK (log_retention_days >= -1), -- the API; NULL: as the experiment
    -- Fact, written by the loop; of an unmanaged experiment by the API, as its programs report it.
    state         text NOT NULL DEFAULT 'ACTIVE' CHECK (state IN ('ACTIVE', 'PAUSED', 'STOPPING_COMPLETED',
        'STOPPING_CANCELED', 'STOPPING_KILLED', 'STOPPING_ERROR', 'COMPLETED', 'CANCELED', 'ERROR')),
    restarts      int NOT NULL DEFAULT 0,
    run_id        int NOT NULL DEFAULT 0,   -- of the newest allocation
    -- Of runs before this one, the reports beyond these steps are archived. The claims of its members write both.
    rolled_back_run   int NOT NULL DEFAULT 0,
    rolled_back_steps int NOT NULL DEFAULT 0,
    started_at    timestamptz NOT NULL DEFAULT now(),
    ended_at      timestamptz,
    error         text NOT NULL DEFAULT '',
    -- The trial waits with a checkpoint and without slots until its search calls it back.
    held          boolean NOT NULL DEFAULT false,
    target        bigint,                   -- how long it trains for now, in its searcher's measure; NULL if the searcher does not decide that
    -- Reported by the trial, written by the API.
    early_exit    text CHECK (early_exit IN ('INVALID_HP', 'INIT_INVALID_HP', 'USER_REQUESTED_STOP')),
    progress      double precision,
    runner_state  text NOT NULL DEFAULT '',
    metadata      jsonb,
    completed_length bigint,                -- the length that a harness before 0.38 says it has trained to; the answers then tell it that it is done, also after a restart
    log_policy_matched text,                -- the API: the name of the log policy that matched last, in the transaction of the match
    alive_at      timestamptz,              -- the API: an unmanaged program's last sign of life
    storages      smallint NOT NULL DEFAULT 0, -- the API: how many rows of storage_backends the trial named first, which are limited
    UNIQUE (experiment_id, number)
);
CREATE INDEX trials_live ON trials (experiment_id) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX trials_external ON trials (experiment_id, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX trials_alive ON trials (alive_at) WHERE alive_at IS NOT NULL AND ended_at IS NULL;

-- Attempts and nodes ----------------------------------------------------------------------------------------

-- One attempt: one row, one Nomad job, det-<id>.
CREATE TABLE allocations (
    id              text PRIMARY KEY,       -- <task>.<run>
    task_id         text NOT NULL REFERENCES tasks ON DELETE CASCADE,
    run_id          int NOT NULL,
    pool            text NOT NULL,
    slots           int NOT NULL CHECK (slots >= 0),
    priority        int NOT NULL,           -- of its task; the API changes both together
    comm_key        uuid NOT NULL DEFAULT gen_random_uuid(), -- by which its members recognize each other
    gateway_secret  uuid NOT NULL DEFAULT gen_random_uuid(), -- by which the attempt's gateways recognize the master; only the runner learns it, when it passes the gate
    queued_at       timestamptz NOT NULL DEFAULT now(), -- of its task's first attempt: a task keeps its place in the queue
    created_at      timestamptz NOT NULL DEFAULT now(), -- when the attempt began to wait
    not_before      timestamptz,            -- waits at least until then: back-off, or a lost attempt that may still run
    exclude         text[] NOT NULL DEFAULT '{}', -- ids of nodes to avoid
    -- Fact, written by the loop.
    state           text NOT NULL DEFAULT 'PENDING' CHECK (state IN ('PENDING', 'ASSIGNED', 'PULLING', 'STARTING', 'RUNNING', 'TERMINATING', 'TERMINATED')),
    waiting_reason  text NOT NULL DEFAULT '',
    preempt_at      timestamptz,            -- when its program was asked to store a checkpoint and exit
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
    -- What the leader asked of Nomad, and the result.
    submitted_at    timestamptz,
    tried_at        timestamptz,            -- when the leader first tried to submit the job: how long that may take counts from then
    submit_error    text NOT NULL DEFAULT '',  -- of the last try
    no_room         boolean NOT NULL DEFAULT false, -- the last try failed because Nomad has no room on the attempt's nodes
    refused_why     text NOT NULL DEFAULT '',  -- Nomad will never accept it
    stopped_at      timestamptz,               -- when Nomad was told to stop it
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
CREATE INDEX allocations_live ON allocations (id) WHERE state <> 'TERMINATED';
-- A task has one live attempt, whatever any program assumes.
CREATE UNIQUE INDEX allocations_one_live ON allocations (task_id) WHERE state <> 'TERMINATED';
-- Attempts whose jobs may still run something: those to stop, and those that ended and are looked at once more.
CREATE INDEX allocations_to_stop ON allocations (id) WHERE kill_at IS NOT NULL AND stopped_at IS NULL AND submitted_at IS NOT NULL;
CREATE INDEX allocations_to_end ON allocations (ended_at) WHERE kill_at IS NULL AND stopped_at IS NULL AND submitted_at IS NOT NULL;

-- The members of an attempt, one on each node.
CREATE TABLE members (
    allocation_id  text NOT NULL REFERENCES allocations ON DELETE CASCADE,
    rank           int NOT NULL,
    -- Placement, written by the loop.
    node_id        text NOT NULL,
    node_name      text NOT NULL,
    slot_ids       int[] NOT NULL DEFAULT '{}',
    -- The devices, by their ids. The numbers in slot_ids are positions in a list, which move when a
    -- device leaves its node; the ids stay.
    devices        text[] NOT NULL DEFAULT '{}',
    model          text NOT NULL DEFAULT '',  -- of its GPUs; '' if its slots are cores
    -- What Nomad says, written by the loop.
    nomad_alloc_id text NOT NULL DEFAULT '',
    nomad_status   text NOT NULL DEFAULT '',  -- pending, running, complete, failed, lost, unknown, gone
    nomad_detail   text NOT NULL DEFAULT '',  -- Nomad's last message about it
    nomad_index    bigint NOT NULL DEFAULT 0,
    nomad_ended_at timestamptz,               -- when Nomad first reported its end
    nomad_exit     int,                       -- Nomad's exit code, if the runner reported none
    pulling        boolean NOT NULL DEFAULT false,
    started        boolean NOT NULL DEFAULT false,
    -- The loop: when the first process of the member was first seen started. The time that it may need to pass the gate counts from there,
    -- because the node may have fetched an image for a long time before.
    started_at     timestamptz,
    replaced       boolean NOT NULL DEFAULT false, -- Nomad made a second allocation for it
    -- The loop: when the leader was done with the leftover of the member, whatever the result. It reads the leftover when Nomad reports
    -- the end of a member whose runner has not reported its exit, or not all of its lines.
    leftover_read_at timestamptz,
    -- The gate and the runner's reports, written by the API.
    claimed_by     text NOT NULL DEFAULT '',  -- Nomad allocation id that passed the gate
    claim_nonce    text NOT NULL DEFAULT '',  -- hash of the secret of the runner process that passed it
    claimed_at     timestamptz,
    token_hash     bytea UNIQUE,
    address        text NOT NULL DEFAULT '',
    ports          jsonb NOT NULL DEFAULT '{}',
    -- The SHA-256 of the certificate of the member's gateway, in hexadecimal digits, as its runner reported it with the claim.
    -- '' before the claim.
    gateway_certificate text NOT NULL DEFAULT '',
    arrived_at     timestamptz,               -- at the rendezvous
    daemon         boolean NOT NULL DEFAULT false,
    exited_at      timestamptz,
    exit_code      int,
    exit_reason    text NOT NULL DEFAULT '',
    stopped        boolean NOT NULL DEFAULT false, -- ended because Nomad ended its runner
    -- The runner reported that it cannot start the program for a reason of the node. The attempt counts as nobody's failure, and
    -- the next one runs elsewhere.
    unfit          boolean NOT NULL DEFAULT false,
    logs_done      boolean NOT NULL DEFAULT false,
    PRIMARY KEY (allocation_id, rank)
);
CREATE INDEX members_node ON members (node_id); -- the page of a node lists what ran there, tens of thousands of past attempts

-- The results of all-gathers, kept so that a call that is repeated, or arrives at another master, gets the same
-- answer. A round is complete when as many peers arrived as its members say there are. The API writes them.
CREATE TABLE gathers (
    allocation_id text NOT NULL REFERENCES allocations ON DELETE CASCADE,
    purpose       text NOT NULL,            -- what is gathered: data, or signs of life
    request       text NOT NULL,            -- the peer's own name for its call
    round         int NOT NULL,
    peers         int NOT NULL CHECK (peers > 0),
    arrival       int NOT NULL,             -- order of arrival in the round
    data          jsonb NOT NULL,
    PRIMARY KEY (allocation_id, purpose, request),
    UNIQUE (allocation_id, purpose, round, arrival)
);

-- Slow and repeated work of the leader, one piece in a row. A piece that fails is retried after a growing delay. Owners
-- take turns, and so do the experiments and tasks (parent) of one owner. The loop writes the rows, with the changes that
-- they follow from.
CREATE TABLE work (
    kind     text NOT NULL CHECK (kind IN ('submit', 'stop', 'gc', 'delete', 'read', 'expire')),
    subject  text NOT NULL,                      -- an attempt (submit, stop, read), a task's log (expire) or an experiment
    parent   text NOT NULL,                      -- the experiment or task for which it is
    after    timestamptz NOT NULL DEFAULT now(), -- not to be tried before
    tries    int NOT NULL DEFAULT 0,             -- that failed, in a row
    error    text NOT NULL DEFAULT '',           -- of the last one
    since    timestamptz NOT NULL DEFAULT now(),
    owner_id int,                                -- NULL: the task is deleted
    large    boolean NOT NULL DEFAULT false,     -- a submission with a large configuration, of which a few run at once
    PRIMARY KEY (kind, subject)
);
CREATE INDEX work_due ON work (kind, after);

-- Jobs in Nomad that carry this cluster's id and that no attempt's row knows, since they were seen. The loop writes them.
CREATE TABLE orphans (
    allocation_id text PRIMARY KEY,          -- by the job's metadata
    job_id        text NOT NULL,
    submitted_at  timestamptz NOT NULL,
    seen_at       timestamptz NOT NULL DEFAULT now(),
    region        text NOT NULL DEFAULT ''
);

-- Nodes of Nomad as the leader last saw them. The loop writes the facts.
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
    -- Intent, written by the API.
    enabled    boolean NOT NULL DEFAULT true,
    drain_wanted boolean NOT NULL DEFAULT false,
    disabled_slots jsonb NOT NULL DEFAULT '{}', -- slots that operators have disabled, by control.SlotKey; the value says whether what runs there may run to its end
    region     text NOT NULL DEFAULT ''     -- the loop
);

-- When the jobs in the queue of a pool may start, as the leader expects. The loop replaces the rows; the API reads them.
CREATE TABLE forecasts (
    pool        text PRIMARY KEY,
    computed_at timestamptz NOT NULL,
    starts      jsonb NOT NULL CHECK (jsonb_typeof(starts) = 'object'), -- of the first jobs, by experiment or task
    others      text NOT NULL                                           -- why nothing is known of the other jobs
);

-- What attempts held, and for whom: a row for each attempt from its placement to its end, with the names of that
-- time, so that it outlives experiments, projects, workspaces and users. The loop writes it in the transactions that
-- store both changes of state.
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
    project_id    int,                       -- of an experiment; the project keeps its number when its name changes
    models        jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(models) = 'object'), -- the slots by the model of their GPUs, such as {"NVIDIA A100": 8}; {} if they are cores
    CHECK (ended_at >= started_at)
);
CREATE INDEX usage_until ON usage (coalesce(ended_at, 'infinity'::timestamptz), started_at);
CREATE INDEX usage_workspace ON usage (workspace_id, coalesce(ended_at, 'infinity'::timestamptz));
CREATE INDEX usage_project ON usage (project_id, coalesce(ended_at, 'infinity'::timestamptz));
CREATE INDEX usage_owner ON usage (owner_id, coalesce(ended_at, 'infinity'::timestamptz));

-- Metrics ---------------------------------------------------------------------------------------------------

-- Metrics are append-only: a row is one report. Its key is the trial, the run, the group and the step; groups
-- without steps (profiling) have the report's time instead. A second report with the same key may only add names.
CREATE TABLE metrics (
    trial_id    int NOT NULL,               -- of trials; see metrics_follow_trials
    run_id      int NOT NULL,
    group_name  text NOT NULL CHECK (group_name <> ''),
    steps       int,                        -- NULL: the group counts no steps
    position    bigint NOT NULL,            -- in the series of its group: its steps, else its time in microseconds, which is always more
    reported_at timestamptz NOT NULL,       -- the task's clock if it sent a time, else the database's
    id          bigint GENERATED ALWAYS AS IDENTITY,
    -- The transaction that wrote the row last. Those who follow the table read up to the oldest transaction that
    -- still runs (pg_snapshot_xmin), so a row that commits late is never missed, which an ever-rising id could not
    -- promise.
    xid         xid8 NOT NULL DEFAULT pg_current_xact_id(),
    merged      boolean NOT NULL DEFAULT false, -- names were added after the summary may have seen it
    archived    boolean NOT NULL DEFAULT false, -- a later run restarted before this step
    avg         jsonb NOT NULL,
    batches     jsonb,
    CHECK (position = steps OR steps IS NULL AND position > 2147483647)
);
-- The key. Its order is the order of a series, which is read without sorting.
CREATE UNIQUE INDEX metrics_key ON metrics (trial_id, group_name, position, run_id);
-- PostgreSQL writes it at its right-hand end only, and it is small: rows of one commit share a key.
CREATE INDEX metrics_by_xid ON metrics (xid);

-- A foreign key would look at trials once for each row, a third of what storing a row costs. Whoever writes locks
-- each trial of a batch once instead, with the lock that a foreign key takes, and this trigger cascades.
CREATE FUNCTION metrics_follow_trials() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM metrics m USING gone WHERE m.trial_id = gone.id;
    RETURN NULL;
END $$;
CREATE TRIGGER metrics_follow_trials AFTER DELETE ON trials
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION metrics_follow_trials();

-- The summary of a trial's rows. The one summarizer writes it, behind the rows. Summaries have a bound, and are
-- rebuilt in several transactions, for which the other summaries do not wait.
CREATE TABLE trial_summaries (
    trial_id       int PRIMARY KEY REFERENCES trials ON DELETE CASCADE,
    summary        jsonb NOT NULL DEFAULT '{}', -- group → name → {count, sum, min, max, mean, last, type}
    total_batches  int NOT NULL DEFAULT 0,
    -- Keys of rows in metrics, group validation.
    latest_run     int,
    latest_steps   int,
    best_run       int,
    best_steps     int,
    searcher_value double precision,               -- of the best validation
    stale          boolean NOT NULL DEFAULT false, -- rows were archived or merged: the summary must be rebuilt
    incomplete     text NOT NULL DEFAULT '',       -- why the summary lacks metrics or reports; '' if it has all
    -- Of a stale summary: the rows up to this position are in it again; NULL: none are, because rows changed since.
    rebuilt_xid    xid8,
    rebuilt_id     bigint,
    rebuild_at     timestamptz,                    -- when a stale summary has its next turn at the earliest; NULL: at once
    version        int NOT NULL DEFAULT 0,         -- changes with everything but bytes: what was rebuilt from an older version is dropped
    -- The size of the trial's reports as PostgreSQL stores them: the summarizer adds that of each row that it passes.
    bytes          bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
CREATE INDEX trial_summaries_stale ON trial_summaries (trial_id) WHERE stale;

-- Up to which transaction and row the summarizer has read.
CREATE TABLE metrics_cursor (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    xid xid8 NOT NULL DEFAULT '0',
    id  bigint NOT NULL DEFAULT 0
);
INSERT INTO metrics_cursor DEFAULT VALUES;
-- Up to which transaction and row it has compared reports with the thresholds of webhooks.
CREATE TABLE threshold_cursor (LIKE metrics_cursor INCLUDING ALL);
INSERT INTO threshold_cursor DEFAULT VALUES;

-- Logs ------------------------------------------------------------------------------------------------------

-- Logs are append-only. A row is a chunk: up to a thousand lines that arrived together, compressed by the master.
-- Lines are numbered for each task from 1; a master assigns numbers under a lock on the task's row that is held
-- until the commit, so whoever has read up to a number has missed nothing below it.
--
-- Chunks are partitioned by retention class first, then by time of arrival, so that retention drops whole
-- partitions instead of deleting rows. Masters create partitions ahead of time and drop those whose time has ended
-- (logs/rows_partitions.go); each class has a default partition, so a line can be stored even if no master has
-- created a partition.

-- How long logs may be kept, in days; 0 is for ever. A task's logs belong to the shortest class that keeps them at
-- least as long as the configuration asks.
CREATE TABLE log_classes (
    days   smallint PRIMARY KEY,
    period interval NOT NULL                -- of one partition
);
INSERT INTO log_classes VALUES (0, '30 days'), (7, '1 day'), (30, '5 days'), (90, '15 days'), (365, '30 days');

CREATE TABLE log_tasks (
    id         int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task_id    text NOT NULL UNIQUE REFERENCES tasks ON DELETE CASCADE,
    class      smallint NOT NULL DEFAULT 0 REFERENCES log_classes,
    next       bigint NOT NULL DEFAULT 1, -- number of the next line
    since      timestamptz NOT NULL DEFAULT now(),
    emptied_at timestamptz,               -- the loop: all lines are deleted, and no more can arrive
    -- Which lines are deleted. A partition is dropped when it has no other lines.
    expired_to bigint NOT NULL DEFAULT 1, -- the loop and the API: lines before this number are deleted
    expired_at timestamptz,               -- the loop and the API: when the last of them were
    bytes      bigint NOT NULL DEFAULT 0  -- the API: of the other lines, as they are stored
) WITH (fillfactor = 50);
CREATE INDEX log_tasks_kept ON log_tasks (id) WHERE emptied_at IS NULL;

-- Where lines come from: what every line would otherwise repeat.
CREATE TABLE log_origins (
    id            int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    log_task      int NOT NULL REFERENCES log_tasks ON DELETE CASCADE,
    allocation_id text NOT NULL DEFAULT '',
    agent_id      text NOT NULL DEFAULT '',
    container_id  text NOT NULL DEFAULT '',
    UNIQUE (log_task, allocation_id, agent_id, container_id)
);

-- What kinds of lines a task has, so that pages can offer filters without reading the lines.
CREATE TABLE log_kinds (
    log_task int NOT NULL REFERENCES log_tasks ON DELETE CASCADE,
    stdtype  text NOT NULL,
    source   text NOT NULL,
    rank     int NOT NULL,                  -- -1: none
    PRIMARY KEY (log_task, stdtype, source, rank)
);

-- How many lines of a shipper are stored. Written in the transaction that stores the lines, so each line is stored
-- once, however often a batch is sent. The names of shippers belong to their tasks: two tasks may use the same.
CREATE TABLE log_shippers (
    shipper text NOT NULL,
    task_id text NOT NULL REFERENCES tasks ON DELETE CASCADE,
    next    bigint NOT NULL,
    done    boolean NOT NULL DEFAULT false,
    PRIMARY KEY (task_id, shipper)
) WITH (fillfactor = 50);

CREATE TABLE log_chunks (
    class      smallint NOT NULL,
    arrived_at timestamptz NOT NULL DEFAULT now(),
    log_task   int NOT NULL REFERENCES log_tasks ON DELETE CASCADE,
    origin     int NOT NULL,
    first      bigint NOT NULL,             -- number of its first line
    lines      int NOT NULL CHECK (lines > 0),
    earliest   timestamptz NOT NULL,        -- of the lines' own times
    latest     timestamptz NOT NULL,
    levels     int NOT NULL,                -- bit n: a line of level n is in it
    body       bytea NOT NULL               -- logs/chunk
) PARTITION BY LIST (class);
CREATE INDEX log_chunks_line ON log_chunks (log_task, first);
ALTER TABLE log_chunks ALTER COLUMN body SET STORAGE EXTERNAL; -- compressed already

CREATE TABLE log_chunks_0 PARTITION OF log_chunks FOR VALUES IN (0) PARTITION BY RANGE (arrived_at);
CREATE TABLE log_chunks_7 PARTITION OF log_chunks FOR VALUES IN (7) PARTITION BY RANGE (arrived_at);
CREATE TABLE log_chunks_30 PARTITION OF log_chunks FOR VALUES IN (30) PARTITION BY RANGE (arrived_at);
CREATE TABLE log_chunks_90 PARTITION OF log_chunks FOR VALUES IN (90) PARTITION BY RANGE (arrived_at);
CREATE TABLE log_chunks_365 PARTITION OF log_chunks FOR VALUES IN (365) PARTITION BY RANGE (arrived_at);
CREATE TABLE log_chunks_0_rest PARTITION OF log_chunks_0 DEFAULT;
CREATE TABLE log_chunks_7_rest PARTITION OF log_chunks_7 DEFAULT;
CREATE TABLE log_chunks_30_rest PARTITION OF log_chunks_30 DEFAULT;
CREATE TABLE log_chunks_90_rest PARTITION OF log_chunks_90 DEFAULT;
CREATE TABLE log_chunks_365_rest PARTITION OF log_chunks_365 DEFAULT;

-- Lines of a trial's log that its log policies ask about: the first of each policy in each attempt. The API writes
-- them, from what runners report and from lines that programs ship by themselves; the loop decides what they mean for
-- the next attempt. They are deleted when the end of their trial is taken back.
CREATE TABLE log_matches (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task_id       text NOT NULL REFERENCES tasks ON DELETE CASCADE,
    allocation_id text NOT NULL DEFAULT '',   -- '' if the lines came from outside of any attempt
    rank          int NOT NULL DEFAULT 0,
    node_id       text NOT NULL DEFAULT '',   -- Nomad's; '' as above
    node_name     text NOT NULL DEFAULT '',
    policy        text NOT NULL DEFAULT '',   -- its name
    pattern       text NOT NULL,
    action        text NOT NULL DEFAULT '' CHECK (action IN ('', 'cancel_retries', 'exclude_node')),
    line          text NOT NULL,
    at            timestamptz NOT NULL DEFAULT now(),
    -- Of the matches that ask for something, the loop reads in each cycle the first few of a trial on a node; a program reports as
    -- many as it likes.
    counts        boolean NOT NULL DEFAULT true
);
CREATE UNIQUE INDEX log_matches_first ON log_matches (task_id, allocation_id, rank, policy, action, md5(pattern));
CREATE INDEX log_matches_asking ON log_matches (task_id, node_id, action) WHERE action <> '' AND counts; -- what the loop reads: most matches only label

-- Checkpoints -----------------------------------------------------------------------------------------------

-- Where checkpoints are stored, each once however many trials use it. Rows are never deleted, because a program that
-- runs may hold their numbers.
CREATE TABLE storage_backends (
    id       int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    config   jsonb NOT NULL,
    digest   text NOT NULL UNIQUE GENERATED ALWAYS AS (md5(config::text)) STORED, -- a function that takes the name of an encoding is not immutable
    owner_id int NOT NULL REFERENCES users -- for whom it counts: the user whose trial named it first
);
CREATE INDEX storage_backends_owner ON storage_backends (owner_id);

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
CREATE INDEX checkpoints_allocation ON checkpoints (allocation_id) WHERE allocation_id IS NOT NULL; -- for the foreign key

-- Garbage collections: tasks that remove files of one experiment.
CREATE TABLE collections (
    task_id       text PRIMARY KEY REFERENCES tasks ON DELETE CASCADE,
    experiment_id int NOT NULL REFERENCES experiments ON DELETE CASCADE,
    reason        text NOT NULL CHECK (reason IN ('policy', 'asked', 'deletion', 'sweep')),
    deletion      int CHECK ((deletion IS NOT NULL) = (reason = 'deletion')), -- which request (experiments.delete_requests) it carries out
    last          boolean NOT NULL DEFAULT true,        -- of a deletion: nothing is left after it
    events        boolean NOT NULL DEFAULT false,       -- it removes TensorBoard's files too
    events_at     timestamptz,                          -- when they were removed
    events_files  bigint NOT NULL DEFAULT 0,
    events_bytes  bigint NOT NULL DEFAULT 0,
    events_error  text NOT NULL DEFAULT '',
    -- A sweep removes files that a program uploaded and nobody reported: folders whose files were all stored between these times. Its
    -- result is in the columns events_*.
    sweep_since   timestamptz,
    sweep_until   timestamptz,
    CONSTRAINT collections_sweep CHECK ((reason = 'sweep') = (sweep_since IS NOT NULL) AND (reason = 'sweep') = (sweep_until IS NOT NULL))
);
CREATE INDEX collections_experiment ON collections (experiment_id, deletion);
CREATE UNIQUE INDEX collections_last ON collections (experiment_id, deletion) WHERE last;

-- What a garbage collection removes of which checkpoint, and the result.
CREATE TABLE removals (
    task_id    text NOT NULL REFERENCES collections ON DELETE CASCADE,
    checkpoint uuid NOT NULL REFERENCES checkpoints ON DELETE CASCADE,
    globs      text[] NOT NULL,                         -- none: it removes nothing, and only reports what is stored
    at         timestamptz,                             -- when it was done
    files      bigint NOT NULL DEFAULT 0,
    bytes      bigint NOT NULL DEFAULT 0,
    error      text NOT NULL DEFAULT '',
    PRIMARY KEY (task_id, checkpoint)
);
CREATE INDEX removals_checkpoint ON removals (checkpoint);

-- Models ----------------------------------------------------------------------------------------------------

-- The model registry. The API writes it. newest is the number of the newest version that the model has ever had: a
-- number that somebody has written down never names another checkpoint later.
CREATE TABLE models (
    id           int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name         text NOT NULL CONSTRAINT models_name UNIQUE,
    workspace_id int NOT NULL REFERENCES workspaces,
    owner_id     int NOT NULL REFERENCES users,
    description  text NOT NULL DEFAULT '',
    notes        text NOT NULL DEFAULT '',
    labels       text[] NOT NULL DEFAULT '{}',
    metadata     jsonb NOT NULL DEFAULT '{}',
    archived     boolean NOT NULL DEFAULT false,
    newest       int NOT NULL DEFAULT 0,
    created_at   timestamptz NOT NULL DEFAULT now(),
    modified_at  timestamptz NOT NULL DEFAULT now(),
    seq          bigint NOT NULL DEFAULT nextval('updates')
);
CREATE INDEX models_workspace ON models (workspace_id);

-- The row of a checkpoint cannot be deleted while a version has it.
CREATE TABLE model_versions (
    id          int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    model_id    int NOT NULL REFERENCES models ON DELETE CASCADE,
    version     int NOT NULL,
    checkpoint  uuid NOT NULL REFERENCES checkpoints,
    owner_id    int NOT NULL REFERENCES users,
    name        text NOT NULL DEFAULT '',
    comment     text NOT NULL DEFAULT '',
    notes       text NOT NULL DEFAULT '',
    labels      text[] NOT NULL DEFAULT '{}',
    metadata    jsonb NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL DEFAULT now(),
    modified_at timestamptz NOT NULL DEFAULT now(),
    seq         bigint NOT NULL DEFAULT nextval('updates'),
    UNIQUE (model_id, version)
);
CREATE INDEX model_versions_checkpoint ON model_versions (checkpoint);

CREATE TRIGGER models_update BEFORE UPDATE OF workspace_id, owner_id, name, description, notes, labels, metadata, archived
    ON models FOR EACH ROW EXECUTE FUNCTION number_update();
CREATE TRIGGER model_versions_update BEFORE UPDATE OF owner_id, name, comment, notes, labels, metadata
    ON model_versions FOR EACH ROW EXECUTE FUNCTION number_update();
CREATE TRIGGER models_notify AFTER INSERT OR UPDATE OR DELETE ON models FOR EACH STATEMENT EXECUTE FUNCTION notify_update();
CREATE TRIGGER model_versions_notify AFTER INSERT OR UPDATE OR DELETE ON model_versions FOR EACH STATEMENT EXECUTE FUNCTION notify_update();
-- The messages about versions name the workspace of their model.
CREATE FUNCTION number_versions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE model_versions SET owner_id = owner_id WHERE model_id = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER models_move AFTER UPDATE OF workspace_id ON models FOR EACH ROW
    WHEN (OLD.workspace_id <> NEW.workspace_id) EXECUTE FUNCTION number_versions();

-- What trials say that they work with: a checkpoint, perhaps as a version of a model. The API writes it.
CREATE TABLE trial_sources (
    trial_id   int NOT NULL REFERENCES trials ON DELETE CASCADE,
    checkpoint uuid NOT NULL REFERENCES checkpoints ON DELETE CASCADE,
    kind       text NOT NULL CHECK (kind IN ('INFERENCE', 'FINE_TUNING')),
    model_id   int,
    version    int,
    PRIMARY KEY (trial_id, checkpoint),
    FOREIGN KEY (model_id, version) REFERENCES model_versions (model_id, version) ON DELETE SET NULL
);
CREATE INDEX trial_sources_checkpoint ON trial_sources (checkpoint);
CREATE INDEX trial_sources_version ON trial_sources (model_id, version);

-- Webhooks --------------------------------------------------------------------------------------------------

-- Webhooks: addresses to which the leading master sends events. The API writes webhooks and their triggers.
CREATE TABLE webhooks (
    id           int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace_id int REFERENCES workspaces ON DELETE CASCADE, -- NULL: for all workspaces
    name         text NOT NULL,
    url          text NOT NULL,
    type         text NOT NULL CHECK (type IN ('DEFAULT', 'SLACK')),
    mode         text NOT NULL CHECK (mode IN ('WORKSPACE', 'SPECIFIC')),
    created_at   timestamptz NOT NULL DEFAULT now(),
    served_at    timestamptz NOT NULL DEFAULT now(), -- the leader: time of the last request; targets take turns by it
    waiting      int NOT NULL DEFAULT 0,             -- the leader and the API: how many deliveries wait for the webhook
    name_md5     uuid NOT NULL GENERATED ALWAYS AS (md5(name)::uuid) STORED, -- as in experiments.hook_names
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

-- Triggers that have fired for a task, of the types that fire once for each task.
CREATE TABLE webhook_fired (
    trigger_id int NOT NULL REFERENCES webhook_triggers ON DELETE CASCADE,
    task_id    text NOT NULL REFERENCES tasks ON DELETE CASCADE,
    PRIMARY KEY (trigger_id, task_id)
);
CREATE INDEX webhook_fired_task ON webhook_fired (task_id);

-- Events for webhooks, one row for each event, inserted in the transaction that stores what happened, until the
-- leader's sender copies them to the webhooks that receive them: what fires an event must not do work for each webhook.
CREATE TABLE webhook_outbox (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    webhook_id    int REFERENCES webhooks ON DELETE CASCADE, -- the only receiver; NULL: whichever receives events of the workspace
    workspace_id  int NOT NULL,
    experiment_id int, -- whose configuration may name or exclude webhooks; no reference: the subject of the event may be deleted first
    event_id      uuid NOT NULL DEFAULT gen_random_uuid(),
    event         jsonb NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX webhook_outbox_workspace ON webhook_outbox (workspace_id, id);
CREATE INDEX webhook_outbox_webhook ON webhook_outbox (webhook_id);

-- Events to send, and the log of those that were sent: one row for each event and webhook. The leader writes
-- them; the API inserts a row when a test has ended, and one for an event that a user sends again.
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
    -- Whose experiment the delivery is about; NULL: unknown. While many deliveries wait for a webhook, each owner may have a part
    -- of its places.
    owner_id   int,
    CHECK ((state = 'WAITING') = (ended_at IS NULL))
);
CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (webhook_id, id) WHERE state = 'WAITING';
CREATE INDEX webhook_deliveries_log ON webhook_deliveries (webhook_id, id);
