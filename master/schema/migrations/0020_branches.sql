-- branched: the events before this one are those of another experiment, from which this experiment branches. The API writes it when it creates the
-- experiment; trial has no meaning with it. A master of an earlier release cannot read a search that has such an event.
LOCK TABLE experiments, trials, search_events IN ACCESS EXCLUSIVE MODE;
ALTER TABLE search_events DROP CONSTRAINT search_events_kind_check,
    ADD CONSTRAINT search_events_kind_check CHECK (kind IN ('validated', 'exited', 'left', 'told', 'continued', 'learned', 'spent', 'branched')) NOT VALID; -- which all rows meet: they met the old one

-- The event of its parent at which an experiment branches from it; NULL: it is no branch. The API writes it when it creates the experiment.
ALTER TABLE experiments ADD COLUMN branch_event bigint;

-- Of a trial of the common past of a branch and its origin. The API writes the columns when it creates the branch; the claim of the trial's first own
-- attempt resets all but origin_id.
ALTER TABLE trials
    -- The trial that it goes on with; NULL: none. It may be deleted, and ids are not used again. A foreign key would look at each of the thousand trials
    -- of a branch once more.
    ADD COLUMN origin_id int,
    ADD COLUMN origin_until timestamptz,                           -- what the origin did until then is the common past; NULL: the trial has runs of its own
    ADD COLUMN past boolean NOT NULL DEFAULT false;                -- the origin did nothing since, so its reports and checkpoints are those of this trial
