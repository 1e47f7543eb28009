-- Groups of users and the roles of users and groups. The API writes all of it. What a role allows
-- is in master/auth (roles.go), and not here.
CREATE TABLE groups (
    id         int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text NOT NULL CONSTRAINT groups_name UNIQUE CHECK (name <> '' AND char_length(name) <= 200),
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE group_members (
    group_id int NOT NULL REFERENCES groups ON DELETE CASCADE,
    user_id  int NOT NULL REFERENCES users ON DELETE CASCADE,
    PRIMARY KEY (group_id, user_id)
);
CREATE INDEX group_members_user ON group_members (user_id);

CREATE TABLE role_assignments (
    id           int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    role_id      int NOT NULL CHECK (role_id BETWEEN 1 AND 10),
    user_id      int REFERENCES users ON DELETE CASCADE,
    group_id     int REFERENCES groups ON DELETE CASCADE,
    workspace_id int REFERENCES workspaces ON DELETE CASCADE, -- NULL: everywhere
    created_at   timestamptz NOT NULL DEFAULT now(),
    CHECK ((user_id IS NULL) <> (group_id IS NULL))
);
CREATE UNIQUE INDEX role_assignments_user ON role_assignments (user_id, role_id, coalesce(workspace_id, 0)) WHERE user_id IS NOT NULL;
CREATE UNIQUE INDEX role_assignments_group ON role_assignments (group_id, role_id, coalesce(workspace_id, 0)) WHERE group_id IS NOT NULL;
CREATE INDEX role_assignments_workspace ON role_assignments (workspace_id);

-- When a master that uses roles has given the admins of basic mode the role ClusterAdmin; NULL
-- while no master uses roles. A master writes it at its start.
ALTER TABLE cluster ADD COLUMN roles_since timestamptz;
