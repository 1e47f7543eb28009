-- spent: what the attempts of a search's trials have cost, if the search has a budget. The loop writes it in the transaction that stores
-- the ends of these attempts, and now and then while they run; trial has no meaning with it. A master of an earlier release cannot
-- read a search that has such an event.
LOCK TABLE experiments, search_events IN ACCESS EXCLUSIVE MODE;
ALTER TABLE search_events DROP CONSTRAINT search_events_kind_check,
    ADD CONSTRAINT search_events_kind_check CHECK (kind IN ('validated', 'exited', 'left', 'told', 'continued', 'learned', 'spent')) NOT VALID; -- which all rows meet: they met the old one
ALTER TABLE experiments
    -- The loop: what its search has spent, and what more trials would bring (search.Outlook); NULL: it has nothing to say. As
    -- text, because the loop compares it with what it would write.
    ADD COLUMN outlook json;
