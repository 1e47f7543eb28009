-- Slots that are devices.

-- The devices that a member was given, by their ids. The numbers in slot_ids are
-- places in a list, which move when a device leaves its node; these stay.
ALTER TABLE members ADD COLUMN devices text[] NOT NULL DEFAULT '{}';

-- The program could not be started for a reason that lies with the node, by its
-- runner's word: the attempt is nobody's failure, and is made elsewhere.
ALTER TABLE members ADD COLUMN unfit boolean NOT NULL DEFAULT false;
