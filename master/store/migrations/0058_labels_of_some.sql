-- Most experiments have no label. They are not in the index, so that no change of them has to compute its key.
DROP INDEX experiments_labels;
CREATE INDEX experiments_labels ON experiments USING gin (label_keys(labels)) WHERE labels <> '{}';
