-- What a part of a report replaces, so that the summary of the trial forgets the earlier values at once, and is rebuilt only if it cannot know
-- without them what is the smallest or the largest value. NULL with replaces: not known, as in parts of an earlier release, so the summary is rebuilt.
ALTER TABLE metric_parts
    ADD COLUMN was    jsonb,                         -- the values that the part replaces
    ADD COLUMN newest boolean NOT NULL DEFAULT false; -- no report of the group has a later step

-- Bytes of the parts of an upload that went through the master, also of those that were sent again: uploads that are not complete count for the
-- limit of their run or model, too.
ALTER TABLE logged_uploads ADD COLUMN sent bigint NOT NULL DEFAULT 0;

-- Uploads of deleted experiments whose parts are still in their storage. The deletion of the experiment's rows inserts them, and the chore that
-- removes the parts deletes them.
CREATE TABLE abandoned_uploads (
    id           uuid PRIMARY KEY, -- as in logged_uploads
    checkpoint   uuid NOT NULL,
    name         text NOT NULL,
    parts        int NOT NULL,
    store        text NOT NULL,
    size         bigint,
    owner_id     int NOT NULL REFERENCES users,
    config       jsonb NOT NULL, -- of the experiment: only its checkpoint_storage, and what every configuration has
    storage      jsonb,          -- the configuration of the checkpoint's own storage
    abandoned_at timestamptz NOT NULL DEFAULT now(),
    tried_at     timestamptz
);
