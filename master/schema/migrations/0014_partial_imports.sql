-- An import over the REST API of an old master, as somebody who sees only a part of the old cluster, imports this part. Once the whole was imported, no pass may see less:
-- it would take away what it does not see. The importer writes this column.
ALTER TABLE imports ADD COLUMN partial boolean NOT NULL DEFAULT false;
