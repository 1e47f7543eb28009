-- Further regions of Nomad, each with its own servers. What the loop knows of the master's own region is in
-- the table cluster, and its name here is ''.
CREATE TABLE regions (
    name        text PRIMARY KEY,            -- the loop, from the configuration, when it begins to lead
    nomad_index bigint NOT NULL DEFAULT 0,   -- the loop: the highest index of an observation without an alarm
    alarm       text NOT NULL DEFAULT '',    -- the loop: why it does not trust this Nomad; '' if it does
    trust       boolean NOT NULL DEFAULT false  -- the API, when an administrator confirms a loss; the loop ends it
);

-- The region of a node, and of a job that no attempt's row knows. The loop's.
ALTER TABLE nodes ADD COLUMN region text NOT NULL DEFAULT '';
ALTER TABLE orphans ADD COLUMN region text NOT NULL DEFAULT '';
