package importer

import (
	"context"
	"fmt"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
)

// putPeople imports users with their passwords, groups, roles and what their pages have stored.
//
// Determined has a hidden group for each user, which has the user's roles; here users have roles themselves.
func (p *pass) putPeople(ctx context.Context, tx *database.DB) error {
	return p.put(ctx, tx,
		numbered("user", "old_users", "users", `SELECT u.id FROM users u WHERE u.username = lower(d.username)`),
		// A user who was here before keeps the password and the rights that the user has here, except for those two whom every
		// Detent begins with: of them, nobody but an operator knows the password.
		`INSERT INTO users (id, username, display_name, password_hash, admin, active, remote, agent_user, created_at, modified_at, last_auth_at) OVERRIDING SYSTEM VALUE
		SELECT n.new, lower(d.username), coalesce(d.display_name, ''), CASE WHEN coalesce(d.password_hash, '') = '' THEN '' ELSE '`+auth.ForeignHash+`' || d.password_hash END,
			coalesce(d.admin, false), coalesce(d.active, true), d.remote,
			(SELECT jsonb_build_object('agentUid', a.uid, 'agentGid', a.gid, 'agentUser', a.user_, 'agentGroup', a.group_) FROM old_agent_user_groups a WHERE a.user_id = d.id),
			coalesce(d.modified_at, now()), coalesce(d.modified_at, now()), d.last_auth_at
		FROM old_users d JOIN import_numbers n ON n.import_id = @import AND n.kind = 'user' AND n.old = d.id
		ON CONFLICT (id) DO UPDATE SET display_name = excluded.display_name, admin = excluded.admin, active = excluded.active, remote = excluded.remote, agent_user = excluded.agent_user,
			password_hash = CASE WHEN users.password_hash LIKE '`+auth.ForeignHash+`%' OR users.username IN ('admin', 'determined') AND users.last_auth_at IS NULL AND excluded.password_hash <> '' THEN excluded.password_hash ELSE users.password_hash END,
			session_epoch = users.session_epoch + CASE WHEN users.active AND NOT excluded.active THEN 1 ELSE 0 END
		WHERE @prefix = ''`,
		`INSERT INTO user_settings (user_id, storage_path, key, value)
		SELECT `+number("user", "d.user_id")+`, d.storage_path, d.key, d.value::text FROM old_user_web_settings d WHERE d.value IS NOT NULL AND `+number("user", "d.user_id")+` IS NOT NULL
		ON CONFLICT DO NOTHING`,
		numbered("group", "(SELECT * FROM old_groups WHERE user_id IS NULL)", "groups", `SELECT g.id FROM groups g WHERE g.name = d.group_name`),
		`INSERT INTO groups (id, name) OVERRIDING SYSTEM VALUE SELECT `+number("group", "d.id")+`, left(d.group_name, 200) FROM old_groups d WHERE d.user_id IS NULL ON CONFLICT (id) DO NOTHING`,
		`INSERT INTO group_members (group_id, user_id) SELECT g.new, u.new FROM old_user_group_membership d
			JOIN import_numbers g ON g.import_id = @import AND g.kind = 'group' AND g.old = d.group_id
			JOIN import_numbers u ON u.import_id = @import AND u.kind = 'user' AND u.old = d.user_id
		ON CONFLICT DO NOTHING`)
}

// roleNumbers is SQL for the numbers of roles by their names.
func roleNumbers() string {
	sql := ""
	for _, r := range auth.Roles() {
		sql += fmt.Sprintf(", ('%s', %d)", r.Name, r.ID)
	}
	return "(VALUES " + sql[2:] + ") AS role (name, id)"
}

// putRoles gives users and groups the roles that they had. It comes after the workspaces.
func (p *pass) putRoles(ctx context.Context, tx *database.DB) error {
	return p.put(ctx, tx, `
		INSERT INTO role_assignments (role_id, user_id, group_id, workspace_id)
		SELECT role.id, CASE WHEN g.user_id IS NOT NULL THEN `+number("user", "g.user_id")+` END, CASE WHEN g.user_id IS NULL THEN `+number("group", "g.id")+` END, `+number("workspace", "d.workspace_id")+`
		FROM old_role_assignments d JOIN old_groups g ON g.id = d.group_id JOIN `+roleNumbers()+` ON role.name = d.role_name
		WHERE d.workspace_id IS NULL OR `+number("workspace", "d.workspace_id")+` IS NOT NULL
		ON CONFLICT DO NOTHING`)
}
