-- Jobs in Nomad that carry this cluster's id and that no attempt's row knows, since
-- when they were seen. The loop's.
CREATE TABLE orphans (
    allocation_id text PRIMARY KEY,          -- by the job's metadata
    job_id        text NOT NULL,
    submitted_at  timestamptz NOT NULL,
    seen_at       timestamptz NOT NULL DEFAULT now()
);

-- Attempts whose jobs may still run something: those to stop, and those that ended
-- and are looked at once more. Before this, nobody looked; such jobs have long ended.
UPDATE allocations SET stopped_at = ended_at WHERE ended_at IS NOT NULL AND stopped_at IS NULL AND kill_at IS NULL;
CREATE INDEX allocations_to_end ON allocations (ended_at) WHERE kill_at IS NULL AND stopped_at IS NULL AND submitted_at IS NOT NULL;
