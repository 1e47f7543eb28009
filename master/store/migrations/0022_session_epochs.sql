-- A new password and a deactivation begin another epoch of the user's sessions: what
-- was started in an earlier one acts in the user's name no more. An experiment or task
-- keeps the epoch of the session that started it; a trial has its experiment's.
ALTER TABLE users ADD COLUMN session_epoch int NOT NULL DEFAULT 0;
ALTER TABLE experiments ADD COLUMN session_epoch int NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN session_epoch int NOT NULL DEFAULT 0;
