-- A run is a trial as a row of its own: it can be archived without its experiment. The API
-- writes archived.
ALTER TABLE trials ADD COLUMN archived boolean NOT NULL DEFAULT false;

-- When a user last looked at a project. The API writes it.
CREATE TABLE project_visits (
    user_id    integer     NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    project_id integer     NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, project_id)
);
CREATE INDEX project_visits_project ON project_visits (project_id);
