-- Owners take turns at the leader's work, and an owner's experiments and tasks take
-- turns within his. A master of the release before writes no owner: such a piece takes
-- turns as its experiment or task.
ALTER TABLE work ADD COLUMN owner_id int;
UPDATE work w SET owner_id = k.owner_id FROM allocations a JOIN tasks k ON k.id = a.task_id
    WHERE w.kind IN ('submit', 'stop', 'read') AND a.id = w.about;
UPDATE work w SET owner_id = e.owner_id FROM experiments e WHERE w.kind IN ('collect', 'erase') AND e.id::text = w.about;
