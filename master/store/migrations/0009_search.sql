-- Searches that let trials wait, and that programs outside drive.

-- The trial waits with a checkpoint and without slots until its search calls it
-- back; how long it trains for now, in its searcher's measure, NULL where that is
-- not the searcher's to say. Both are the loop's.
ALTER TABLE trials ADD COLUMN held boolean NOT NULL DEFAULT false;
ALTER TABLE trials ADD COLUMN target bigint;

-- left: a trial that was to wait has left its slots. told: a program outside has
-- said what it wants; trial means nothing then.
ALTER TABLE search_events DROP CONSTRAINT search_events_kind_check;
ALTER TABLE search_events ADD CONSTRAINT search_events_kind_check CHECK (kind IN ('validated', 'exited', 'left', 'told'));
