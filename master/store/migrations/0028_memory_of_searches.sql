-- What the search and the configuration of an experiment take of a leading master's
-- memory, in bytes: an estimate from above (search.Memory). The API writes it.
ALTER TABLE experiments ADD COLUMN memory bigint NOT NULL DEFAULT 0 CHECK (memory >= 0);
-- Experiments that live already get a rough estimate. One that has ended gets its own if
-- it is continued.
UPDATE experiments e SET memory = 8192 + 16 * coalesce(octet_length((e.config -> 'hyperparameters')::text), 0)
        + 512 * least(100000, greatest(
            (SELECT count(*) FROM trials t WHERE t.experiment_id = e.id),
            coalesce((e.config #>> '{searcher,max_trials}')::numeric, 0),
            coalesce((e.config #>> '{searcher,population_size}')::numeric * (e.config #>> '{searcher,num_rounds}')::numeric, 0)))
        + CASE WHEN e.searcher = 'custom' THEN (
            SELECT coalesce(sum(octet_length(s.body::text) * 9 / 8 + 1280 * CASE jsonb_typeof(s.body -> 'list') WHEN 'array' THEN jsonb_array_length(s.body -> 'list') ELSE 0 END), 0)
            FROM search_events s WHERE s.experiment_id = e.id AND s.kind = 'told') ELSE 0 END
    WHERE e.state NOT IN ('COMPLETED', 'CANCELED', 'ERROR', 'DELETE_FAILED') OR e.continues > e.continued;
