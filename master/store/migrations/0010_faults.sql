-- What went wrong where, for the attempts that follow.

-- Lines of a trial's log that its log policies ask about: the first of each
-- policy in each attempt. The API writes them, from what runners report and from
-- lines that programs ship by themselves; what they mean for the next attempt is the
-- loop's to decide. They go when the end of their trial is taken back.
CREATE TABLE log_matches (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task_id       text NOT NULL REFERENCES tasks ON DELETE CASCADE,
    allocation_id text NOT NULL DEFAULT '',   -- '' when the lines came from outside of any attempt
    rank          int NOT NULL DEFAULT 0,
    node_id       text NOT NULL DEFAULT '',   -- Nomad's; '' as above
    node_name     text NOT NULL DEFAULT '',
    policy        text NOT NULL DEFAULT '',   -- its name
    pattern       text NOT NULL,
    action        text NOT NULL DEFAULT '' CHECK (action IN ('', 'cancel_retries', 'exclude_node')),
    line          text NOT NULL,
    at            timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX log_matches_first ON log_matches (task_id, allocation_id, rank, policy, action, md5(pattern));
-- What the loop reads: most matches only label.
CREATE INDEX log_matches_asking ON log_matches (task_id) WHERE action <> '';

-- The name of the policy that matched last, in the same transaction as the match.
ALTER TABLE trials ADD COLUMN log_policy_matched text;

-- How often in a row attempts of an experiment's trials failed on a node, and
-- whether it is therefore avoided. The loop writes both.
CREATE TABLE node_failures (
    experiment_id int NOT NULL REFERENCES experiments ON DELETE CASCADE,
    node_id       text NOT NULL,
    node_name     text NOT NULL,
    failures      int NOT NULL CHECK (failures >= 0),
    avoided       boolean NOT NULL DEFAULT false,
    at            timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (experiment_id, node_id)
);
