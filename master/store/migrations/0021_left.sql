-- What members have left on their nodes is read by the master when Nomad calls them
-- over and their runners have not reported their exits, or not all of their lines.
-- When the master was done with that, whatever came of it: the loop's.
ALTER TABLE members ADD COLUMN left_read_at timestamptz;
ALTER TABLE work DROP CONSTRAINT work_kind_check;
ALTER TABLE work ADD CONSTRAINT work_kind_check CHECK (kind IN ('submit', 'stop', 'collect', 'erase', 'read'));
