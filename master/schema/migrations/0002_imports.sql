-- Imports of the databases of Determined clusters (det-master import). The importer writes these tables.

CREATE TABLE imports (
    id         int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    cluster_id text NOT NULL UNIQUE,       -- of the cluster that is imported
    prefix     text NOT NULL UNIQUE,       -- of the names of its workspaces; '': it came into an empty database, and all its numbers stay
    shift      int NOT NULL DEFAULT 0,     -- what is added to the numbers of its experiments, trials, models and versions of models
    started_at timestamptz NOT NULL DEFAULT now(),
    ended_at   timestamptz                 -- of the last pass that came to its end; NULL: none has
);

-- What was imported, and the number that it has here. An object that is gone here stays in this table, so that no later pass brings it back.
CREATE TABLE import_numbers (
    import_id int NOT NULL REFERENCES imports ON DELETE CASCADE,
    kind      text NOT NULL CHECK (kind IN ('user', 'group', 'workspace', 'project', 'webhook', 'experiment', 'trial', 'model', 'version')),
    old       int NOT NULL,
    new       int NOT NULL,
    made      boolean NOT NULL, -- the import made it; false: it was here before, with the same name
    PRIMARY KEY (import_id, kind, old),
    UNIQUE (import_id, kind, new)
);
CREATE INDEX import_numbers_new ON import_numbers (kind, new);

-- The trials whose metrics are here. A trial that has changed in the old cluster since is copied again, with all its metrics.
CREATE TABLE import_trials (
    trial_id int PRIMARY KEY REFERENCES trials ON DELETE CASCADE,
    mark     text NOT NULL,  -- what changes when the trial does
    rows     bigint NOT NULL
);

-- Up to which of its lines the log of an old task was copied.
CREATE TABLE import_logs (
    import_id int NOT NULL REFERENCES imports ON DELETE CASCADE,
    task      text NOT NULL,    -- of the old cluster
    last      bigint NOT NULL,  -- number of the last line there
    lines     bigint NOT NULL,  -- how many were copied
    PRIMARY KEY (import_id, task)
);

-- An imported webhook is off: it gets no events until its receiver has accepted a test event here, so that nobody is told everything by two clusters. The
-- importer sets it, and the API ends it.
ALTER TABLE webhooks ADD COLUMN off boolean NOT NULL DEFAULT false;

-- The name of an imported run within its project, such as VIS-4, which links and notes may contain. Other runs are called by their number.
ALTER TABLE trials ADD COLUMN local_id text;
