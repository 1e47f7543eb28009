-- A master of the release before finds a shipper by its name alone, and writes how far it
-- is to every task's shipper of that name. The other tasks' counters would run ahead, and
-- their lines be dropped as doubles. Masters of this release count their writes; what is
-- written without that, where the name belongs to several tasks, is not taken. Lines may
-- then be stored twice, and none is lost. It can go with that release.
ALTER TABLE log_shippers ADD COLUMN writes bigint NOT NULL DEFAULT 0;
CREATE FUNCTION log_shippers_of_one_task() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF EXISTS (SELECT FROM log_shippers s WHERE s.shipper = NEW.shipper AND s.task_id <> NEW.task_id) THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER log_shippers_of_one_task BEFORE UPDATE ON log_shippers FOR EACH ROW WHEN (NEW.writes = OLD.writes)
    EXECUTE FUNCTION log_shippers_of_one_task();
