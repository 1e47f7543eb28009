-- Summaries of metrics have a bound, and are rebuilt in several transactions. The summarizer writes these columns.
ALTER TABLE trial_summaries
    -- why the summary lacks metrics or reports; '' if it has all
    ADD COLUMN incomplete text NOT NULL DEFAULT '',
    -- of a stale summary: the rows up to this position are in it again; NULL: none are, because rows changed since
    ADD COLUMN rebuilt_xid xid8,
    ADD COLUMN rebuilt_id bigint,
    -- of a stale summary: when the summarizer last worked on it; the others come first
    ADD COLUMN tried_at timestamptz;
-- Earlier releases stored summaries without a bound.
UPDATE trial_summaries SET stale = true WHERE pg_column_size(summary) > 262144;
