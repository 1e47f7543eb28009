-- What programs log with MLflow's client, as a checkpoint: the files of a run, or those of a model. No program is offered it as a
-- checkpoint to continue from, and no policy removes it.
ALTER TABLE checkpoints
    ADD COLUMN logged text NOT NULL DEFAULT '' CHECK (logged IN ('', 'run', 'model')), -- the API, at its first file
    ADD CONSTRAINT checkpoints_logged_kind CHECK (logged = '' OR trial_id IS NOT NULL AND NOT kept);
CREATE UNIQUE INDEX checkpoints_logged ON checkpoints (trial_id) WHERE logged = 'run' AND state <> 'DELETED';
-- Models that runs log with MLflow's client. A model that a program logs without a run has a run of its own.
CREATE TABLE mlflow_models (
    id          text PRIMARY KEY CHECK (id ~ '^m-[0-9a-f]{32}$'),
    trial_id    int NOT NULL REFERENCES trials ON DELETE CASCADE,
    checkpoint  uuid NOT NULL REFERENCES checkpoints ON DELETE CASCADE, -- its files
    name        text NOT NULL,
    type        text NOT NULL DEFAULT '',
    status      text NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'READY', 'UPLOAD_FAILED')),
    params      jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(params) = 'object'),
    tags        jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(tags) = 'object'),
    step        bigint, -- of the run, which has reported the model as its output; NULL: it has not
    deleted_at  timestamptz,
    created_at  timestamptz NOT NULL DEFAULT now(),
    modified_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX mlflow_models_trial ON mlflow_models (trial_id);
CREATE INDEX mlflow_models_checkpoint ON mlflow_models (checkpoint);
-- What MLflow's client knows of versions of models besides what everybody sees. A version without a row was registered by other clients.
CREATE TABLE mlflow_versions (
    version_id int PRIMARY KEY REFERENCES model_versions ON DELETE CASCADE,
    source     text NOT NULL, -- as the client has named it
    location   text NOT NULL, -- where its files are, as clients of MLflow name it
    run        text NOT NULL DEFAULT '',
    model      text NOT NULL DEFAULT '', -- the model that a run has logged
    run_link   text NOT NULL DEFAULT '',
    stage      text NOT NULL DEFAULT 'None' CHECK (stage IN ('None', 'Staging', 'Production', 'Archived'))
);
CREATE INDEX mlflow_versions_run ON mlflow_versions (run);
CREATE TABLE mlflow_aliases (
    model_id int NOT NULL REFERENCES models ON DELETE CASCADE,
    alias    text NOT NULL,
    version  int NOT NULL,
    PRIMARY KEY (model_id, alias),
    FOREIGN KEY (model_id, version) REFERENCES model_versions (model_id, version) ON DELETE CASCADE
);
CREATE INDEX mlflow_aliases_version ON mlflow_aliases (model_id, version);
