-- Imports of the database of a Determined cluster (det-master import). The importer writes these tables.

CREATE TABLE imports (
    id         int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    cluster_id text NOT NULL UNIQUE,       -- of the cluster that is imported
    prefix     text NOT NULL,              -- of the names of its workspaces; '': it came into an empty database, and all its numbers stay
    shift      int NOT NULL DEFAULT 0,     -- what is added to the numbers of its experiments, trials and versions of models
    started_at timestamptz NOT NULL DEFAULT now(),
    ended_at   timestamptz                 -- of the last pass that came to its end; NULL: none has
);

-- The numbers of what is found by name, or has a number of its own here.
CREATE TABLE import_numbers (
    import_id int NOT NULL REFERENCES imports ON DELETE CASCADE,
    kind      text NOT NULL CHECK (kind IN ('user', 'group', 'workspace', 'project', 'webhook')),
    old       int NOT NULL,
    new       int NOT NULL,
    PRIMARY KEY (import_id, kind, old)
);

-- The trials whose metrics are here. A trial that has changed in the old cluster since gets all its metrics again.
CREATE TABLE import_trials (
    trial_id int PRIMARY KEY REFERENCES trials ON DELETE CASCADE,
    mark     text NOT NULL,  -- what changes when the trial does
    rows     bigint NOT NULL
);

-- An imported webhook is off: it gets no events until its receiver has accepted a test event here, so that nobody is told everything by two clusters. The
-- importer sets it, and the API ends it.
ALTER TABLE webhooks ADD COLUMN off boolean NOT NULL DEFAULT false;

-- The name of an imported run within its project, such as VIS-4, which links and notes may contain. Other runs are called by their number.
ALTER TABLE trials ADD COLUMN local_id text;
