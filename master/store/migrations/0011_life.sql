-- Experiments that go on after their end, jobs that change their pool and their
-- place, slots that are taken out of use, and workspaces that people keep at hand.

-- How often it was wished that the experiment goes on after its end (the API's), and
-- how often it did (the loop's). They differ until the loop has carried a wish out.
ALTER TABLE experiments ADD COLUMN continues int NOT NULL DEFAULT 0;
ALTER TABLE experiments ADD COLUMN continued int NOT NULL DEFAULT 0;
-- When it was wished last: what logs said before that is held against nobody. The API's.
ALTER TABLE experiments ADD COLUMN continued_at timestamptz;
CREATE INDEX experiments_continuing ON experiments (id) WHERE continues > continued;
-- What its search began with, where a later configuration says something else; NULL:
-- config. What changed since is in the search's events.
ALTER TABLE experiments ADD COLUMN search_config jsonb;
-- The checkpoint that its trials start from: the one that searcher.source_trial_id or
-- source_checkpoint_uuid meant when the experiment was submitted.
ALTER TABLE experiments ADD COLUMN warm_start uuid;

-- Where the job stands among those of its priority, if somebody has said so: as if it
-- had been queued then. Intent.
ALTER TABLE experiments ADD COLUMN place timestamptz;
ALTER TABLE tasks ADD COLUMN place timestamptz;

-- continued: the experiment goes on after its end; trial means nothing then.
ALTER TABLE search_events DROP CONSTRAINT search_events_kind_check;
ALTER TABLE search_events ADD CONSTRAINT search_events_kind_check
    CHECK (kind IN ('validated', 'exited', 'left', 'told', 'continued'));

-- Intent: slots that operators have taken out of use, by control.SlotKey; the value
-- says whether what runs there may run to its end.
ALTER TABLE nodes ADD COLUMN slots_off jsonb NOT NULL DEFAULT '{}';

CREATE TABLE workspace_pins (
    user_id      int NOT NULL REFERENCES users ON DELETE CASCADE,
    workspace_id int NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    pinned_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, workspace_id)
);
