-- learned: what a search learns from earlier experiments. The API writes it as the first event of the search when it creates the
-- experiment; trial has no meaning with it. A master of an earlier release cannot read a search that has such an event.
ALTER TABLE search_events DROP CONSTRAINT search_events_kind_check,
    ADD CONSTRAINT search_events_kind_check CHECK (kind IN ('validated', 'exited', 'left', 'told', 'continued', 'learned'));
