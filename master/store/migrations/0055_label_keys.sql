-- An entry of an index has at most a third of a page; labels may be longer. The index has the beginnings of labels, and
-- queries compare the labels themselves too.
CREATE FUNCTION label_keys(labels text[]) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(array_agg(left(l, 128)), '{}') FROM unnest(labels) AS l
$$;
DROP INDEX experiments_labels;
CREATE INDEX experiments_labels ON experiments USING gin (label_keys(labels));
