-- The newest value of each metric of a run, as MLflow's searches compare and sort by it: a page of runs in the order of a metric is a part of
-- an index, however many runs there are. Only runs that have ended have rows here; of the others, and of those with very many metrics, a search
-- reads the summaries. The summarizer's list loop inserts rows, and a trigger removes those of a summary that changes.
CREATE TABLE newest_values (
    trial_id int NOT NULL REFERENCES trials ON DELETE CASCADE,
    metric   bigint NOT NULL, -- metric_key() of its name
    value    double precision NOT NULL,
    PRIMARY KEY (trial_id, metric)
);
CREATE INDEX newest_values_order ON newest_values (metric, value) INCLUDE (trial_id);

-- The number of a name: names can be long, and programs choose them, so the number is a part of a hash that nobody can aim at another name.
CREATE FUNCTION metric_key(name text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN ('x' || encode(substr(sha256(convert_to(name, 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint;

-- Whether newest_values has what a summary has; 'large': no, because there are too many metrics, or because they could not be listed.
ALTER TABLE trial_summaries ADD COLUMN listed text NOT NULL DEFAULT 'no' CHECK (listed IN ('no', 'yes', 'large'));
CREATE INDEX trial_summaries_unlisted ON trial_summaries (trial_id) INCLUDE (listed) WHERE listed <> 'yes';

-- Whoever writes a summary, also a master of the previous release and an import.
CREATE FUNCTION summaries_unlist() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM newest_values WHERE trial_id = NEW.trial_id;
    NEW.listed := 'no';
    RETURN NEW;
END $$;
CREATE TRIGGER summaries_unlist BEFORE UPDATE OF summary ON trial_summaries
    FOR EACH ROW WHEN (OLD.listed <> 'no') EXECUTE FUNCTION summaries_unlist();

-- Files that programs log in parts, until they are complete. The API writes these rows; a chore of the masters removes those that nobody has completed.
CREATE TABLE logged_uploads (
    id         uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    checkpoint uuid NOT NULL REFERENCES checkpoints ON DELETE CASCADE,
    name       text NOT NULL, -- of the file
    parts      int NOT NULL CHECK (parts > 0),
    store      text NOT NULL, -- the upload, as the store calls it
    finished   boolean NOT NULL DEFAULT false, -- so that a client may ask twice
    created_at timestamptz NOT NULL DEFAULT now(),
    tried_at   timestamptz, -- when the chore failed to remove it
    size       bigint, -- of all parts, before the store makes the file of them: if it was not recorded then, a further request finds a file of this size
    holder     uuid, -- the request that completes the file or removes its parts
    held_until timestamptz -- unless it renews this
);
CREATE INDEX logged_uploads_checkpoint ON logged_uploads (checkpoint);

-- Files that programs log, a row each, so that a further file costs the same however many there are. Of checkpoints that an earlier release has
-- filled, and of those from which files were removed, files are in checkpoints.resources too: a file is in one of both.
CREATE TABLE logged_files (
    checkpoint uuid NOT NULL REFERENCES checkpoints ON DELETE CASCADE,
    name       text COLLATE "C" NOT NULL,
    size       bigint NOT NULL,
    PRIMARY KEY (checkpoint, name)
);
ALTER TABLE checkpoints
    ADD COLUMN logged_files int NOT NULL DEFAULT 0,    -- rows of logged_files
    ADD COLUMN logged_names bigint NOT NULL DEFAULT 0; -- bytes of their names

-- The newest value of each metric that a program has logged about one model, for each data set.
CREATE TABLE mlflow_model_metrics (
    model_id text NOT NULL REFERENCES mlflow_models ON DELETE CASCADE,
    name     text NOT NULL,
    dataset  text NOT NULL DEFAULT '',
    digest   text NOT NULL DEFAULT '', -- of the data set
    value    double precision NOT NULL, -- also NaN
    step     bigint NOT NULL,
    at       timestamptz NOT NULL,
    run      int NOT NULL, -- the run in which it was logged
    PRIMARY KEY (model_id, name, dataset, digest)
);
ALTER TABLE mlflow_models ADD COLUMN values_bytes bigint NOT NULL DEFAULT 0; -- of its rows of mlflow_model_metrics, as an estimate
