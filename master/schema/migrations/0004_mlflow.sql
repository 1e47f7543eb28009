-- MLflow's interface: an experiment of MLflow is a project.
ALTER TABLE projects
    ADD COLUMN mlflow_tags jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(mlflow_tags) = 'object'); -- the API: tags that clients of MLflow set
-- The newest runs of many.
CREATE INDEX trials_started ON trials (started_at DESC, id) INCLUDE (experiment_id, archived);
