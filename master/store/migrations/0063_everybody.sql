-- A role without a user and without a group is everybody's.
ALTER TABLE role_assignments DROP CONSTRAINT role_assignments_check;
ALTER TABLE role_assignments ADD CONSTRAINT role_assignments_check CHECK (user_id IS NULL OR group_id IS NULL);
CREATE UNIQUE INDEX role_assignments_everybody ON role_assignments (role_id, coalesce(workspace_id, 0)) WHERE user_id IS NULL AND group_id IS NULL;
