-- What each member has of its node beside its slots, as the scheduler has counted it and as its job asks Nomad for it. 0: an earlier
-- release placed it, or the node did not say what it has.
ALTER TABLE members
    ADD COLUMN mhz integer NOT NULL DEFAULT 0 CHECK (mhz >= 0), -- the loop, at the placement
    ADD COLUMN memory_mb integer NOT NULL DEFAULT 0 CHECK (memory_mb >= 0); -- the same
-- Quotas of processors, and of GiB of memory, that are held at the same time. Masters of earlier releases do not enforce them.
ALTER TABLE quotas DROP CONSTRAINT quotas_measure_check, DROP CONSTRAINT quotas_check,
    ADD CONSTRAINT quotas_measure_check CHECK (measure IN ('slots', 'cpus', 'memory', 'slot_hours')),
    ADD CONSTRAINT quotas_check CHECK (CASE measure WHEN 'slot_hours' THEN period IN ('day', 'week', 'month', 'total') ELSE period = '' END);
