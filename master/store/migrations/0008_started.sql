-- When the first process of a member was first seen started: what it may still
-- need before it passes the gate counts from there, because an image may have
-- been fetched for a long time before.
ALTER TABLE members ADD COLUMN started_at timestamptz;
