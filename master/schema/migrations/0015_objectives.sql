-- searcher.metrics of the configuration, which each report of a validation needs; NULL: the search has one metric. Only the first of them is in
-- the column metric.
ALTER TABLE experiments ADD COLUMN objectives jsonb
    GENERATED ALWAYS AS (CASE jsonb_typeof(config #> '{searcher,metrics}') WHEN 'array' THEN config #> '{searcher,metrics}' END) STORED;
