-- Templates, and what experiments are found by.

-- A configuration that others are laid over. Its text is kept as it was written,
-- so that what is wrong with it can be shown where it stands.
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

-- The template that an experiment was made with, as it was then: a fork is made
-- of the same two documents.
ALTER TABLE experiments ADD COLUMN template text NOT NULL DEFAULT '';
ALTER TABLE experiments ADD COLUMN template_source text NOT NULL DEFAULT '';

-- The hyperparameters of an experiment, one a row, groups flattened with dots: what
-- values each can have. low and high are the bounds; numbers is NULL for a range,
-- else all values that are numbers; texts all others. Reading them out of config
-- would unpack it for every experiment that a question looks at.
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

-- An exponent's power, kept within what a double can hold.
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
INSERT INTO experiment_hparams (experiment_id, name, low, high, numbers, texts)
    SELECT e.id, h.name, h.low, h.high, h.numbers, h.texts FROM experiments e, hparams_of(e.config) h;

CREATE INDEX experiments_labels ON experiments USING gin (labels);
