-- Files that a program uploaded and nobody reported: sweeps remove them (sweep.go).
-- When the leader last decided about a sweep of the experiment; NULL: never. The loop's.
ALTER TABLE experiments ADD COLUMN swept_at timestamptz;
CREATE INDEX experiments_unswept ON experiments (ended_at) WHERE ended_at IS NOT NULL AND NOT unmanaged AND (swept_at IS NULL OR swept_at < ended_at);
-- A sweep removes folders whose files were all stored between these times. Its result is in the columns events_*.
ALTER TABLE collections
    ADD COLUMN sweep_since timestamptz,
    ADD COLUMN sweep_until timestamptz,
    DROP CONSTRAINT collections_reason_check,
    ADD CONSTRAINT collections_reason_check CHECK (reason IN ('policy', 'asked', 'deletion', 'sweep')),
    ADD CONSTRAINT collections_sweep CHECK ((reason = 'sweep') = (sweep_since IS NOT NULL) AND (reason = 'sweep') = (sweep_until IS NOT NULL));
