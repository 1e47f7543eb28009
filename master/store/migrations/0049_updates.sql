-- The order in which projects, models and their versions change, for the clients that follow them. The
-- triggers are the only writers of seq: each change of what such a client is sent gives the row the
-- next number, and tells the masters.
CREATE SEQUENCE updates;
ALTER TABLE projects       ADD COLUMN seq bigint NOT NULL DEFAULT nextval('updates');
ALTER TABLE models         ADD COLUMN seq bigint NOT NULL DEFAULT nextval('updates');
ALTER TABLE model_versions ADD COLUMN seq bigint NOT NULL DEFAULT nextval('updates');

CREATE FUNCTION number_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.seq = nextval('updates');
    RETURN NEW;
END $$;
CREATE TRIGGER projects_update BEFORE UPDATE OF workspace_id, name, key, description, user_id, archived, notes, deleting_at, delete_error
    ON projects FOR EACH ROW EXECUTE FUNCTION number_update();
CREATE TRIGGER models_update BEFORE UPDATE OF workspace_id, owner_id, name, description, notes, labels, metadata, archived
    ON models FOR EACH ROW EXECUTE FUNCTION number_update();
CREATE TRIGGER model_versions_update BEFORE UPDATE OF owner_id, name, comment, notes, labels, metadata
    ON model_versions FOR EACH ROW EXECUTE FUNCTION number_update();
-- The messages about versions name the workspace of their model.
CREATE FUNCTION number_versions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE model_versions SET owner_id = owner_id WHERE model_id = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER models_move AFTER UPDATE OF workspace_id ON models FOR EACH ROW
    WHEN (OLD.workspace_id <> NEW.workspace_id) EXECUTE FUNCTION number_versions();

CREATE FUNCTION notify_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('det', 'updates');
    RETURN NULL;
END $$;
CREATE TRIGGER projects_notify AFTER INSERT OR UPDATE OR DELETE ON projects FOR EACH STATEMENT EXECUTE FUNCTION notify_update();
CREATE TRIGGER models_notify AFTER INSERT OR UPDATE OR DELETE ON models FOR EACH STATEMENT EXECUTE FUNCTION notify_update();
CREATE TRIGGER model_versions_notify AFTER INSERT OR UPDATE OR DELETE ON model_versions FOR EACH STATEMENT EXECUTE FUNCTION notify_update();
