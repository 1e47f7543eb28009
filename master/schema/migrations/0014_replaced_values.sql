-- What a part of a report replaces, so that the summary of the trial forgets the earlier values at once, and is rebuilt only if it cannot know
-- without them what is the smallest or the largest value. NULL with replaces: not known, as in parts of an earlier release, so the summary is rebuilt.
ALTER TABLE metric_parts
    ADD COLUMN was    jsonb,                         -- the values that the part replaces
    ADD COLUMN newest boolean NOT NULL DEFAULT false; -- no report of the group has a later step
