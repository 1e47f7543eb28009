-- The model registry. newest is the number of the newest version that the model has ever had:
-- a number that somebody has written down never comes to mean another checkpoint.
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
    modified_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX models_workspace ON models (workspace_id);

-- A checkpoint's row cannot be deleted while a version has it.
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
    UNIQUE (model_id, version)
);
CREATE INDEX model_versions_checkpoint ON model_versions (checkpoint);

-- What trials say that they work with: a checkpoint, perhaps as a version of a model.
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
