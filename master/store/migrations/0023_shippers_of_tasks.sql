-- The names of shippers are their tasks' own: two tasks may use the same, and none
-- takes another's. A master of the release before looks for names alone; it refuses
-- one of two tasks whose shippers are named alike, as it did. Its index can go when
-- that release is no longer supported.
ALTER TABLE log_shippers DROP CONSTRAINT log_shippers_pkey;
ALTER TABLE log_shippers ADD PRIMARY KEY (task_id, shipper);
CREATE INDEX log_shippers_name ON log_shippers (shipper);
DROP INDEX log_shippers_task; -- the key begins with it
