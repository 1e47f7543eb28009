-- The names that the masters of imported clusters had. Whoever opens an old link at one of them is sent to the number that the object has here. The importer
-- writes this table.
CREATE TABLE import_hosts (
    host      text PRIMARY KEY,  -- lower case, without a port
    import_id int NOT NULL REFERENCES imports ON DELETE CASCADE
);

-- Names such as VIS-4 that an imported run had in other projects. The importer writes this table.
CREATE TABLE earlier_names (
    name     text NOT NULL,
    trial_id int NOT NULL REFERENCES trials ON DELETE CASCADE,
    PRIMARY KEY (name, trial_id)
);
CREATE INDEX earlier_names_of ON earlier_names (trial_id);
