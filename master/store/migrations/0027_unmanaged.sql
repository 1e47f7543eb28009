-- Trials of unmanaged experiments: their programs run elsewhere and report with their user's session. The
-- API writes their state, as their programs report it; the loop leaves these trials alone.
ALTER TABLE trials ADD COLUMN external_id text; -- the program's own name for it; written by the API
ALTER TABLE trials ADD COLUMN alive_at timestamptz; -- the program's last sign of life; written by the API
CREATE UNIQUE INDEX trials_external ON trials (experiment_id, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX trials_alive ON trials (alive_at) WHERE alive_at IS NOT NULL AND ended_at IS NULL;
