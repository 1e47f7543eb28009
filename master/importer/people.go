package importer

import (
	"context"
	"fmt"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// A hash whose cost is higher than Determined's could keep a processor busy for minutes.
const maxCost = 15

// putPeople imports users with their passwords, groups, and what their pages have stored. It is a transaction of its own, because people sign in meanwhile.
//
// Determined has a hidden group for each user, which has the user's roles; here users have roles themselves. Beside existing work, nobody gets rights outside of the
// imported workspaces: users who come are no administrators, and groups that come are new ones.
func (p *pass) putPeople(ctx context.Context, tx *database.DB) error {
	if err := p.checkPeople(ctx, tx); err != nil {
		return err
	}
	statements := numbered("user", "old_users", "users", `x.username = lower(d.username)`)
	statements = append(statements, freeNames("user", "users", "username", "old_users", "lower(d.username)"),
		// A user who was here before keeps the password and the rights that the user has here, except for those two whom every
		// Detent begins with: of them, nobody but an operator knows the password. The user admin stays active: somebody must be able to sign in.
		`INSERT INTO users (id, username, display_name, password_hash, admin, active, remote, agent_user, created_at, modified_at, last_auth_at) OVERRIDING SYSTEM VALUE
		SELECT n.new, lower(d.username), coalesce(d.display_name, ''), CASE WHEN coalesce(d.password_hash, '') = '' THEN '' WHEN substring(d.password_hash FROM '^\$2[aby]?\$([0-9]{2})\$')::int > `+fmt.Sprint(maxCost)+` THEN '`+auth.ForeignHash+`' ELSE '`+auth.ForeignHash+`' || d.password_hash END,
			coalesce(d.admin, false) AND @prefix = '', coalesce(d.active, true), d.remote,
			(SELECT jsonb_build_object('uid', a.uid, 'gid', a.gid, 'user', a.user_, 'group', a.group_) FROM old_agent_user_groups a WHERE a.user_id = d.id LIMIT 1),
			coalesce(d.modified_at, now()), coalesce(d.modified_at, now()), d.last_auth_at
		FROM old_users d JOIN import_numbers n ON n.import_id = @import AND n.kind = 'user' AND n.old = d.id WHERE n.made OR @prefix = ''
		ON CONFLICT (id) DO UPDATE SET username = excluded.username, display_name = excluded.display_name, admin = excluded.admin, active = excluded.active OR users.username = 'admin', remote = excluded.remote, agent_user = excluded.agent_user,
			password_hash = CASE WHEN users.password_hash LIKE '`+auth.ForeignHash+`%' OR users.username IN ('admin', 'determined') AND users.last_auth_at IS NULL AND excluded.password_hash NOT IN ('', '`+auth.ForeignHash+`') THEN excluded.password_hash ELSE users.password_hash END,
			session_epoch = users.session_epoch + CASE WHEN users.active AND NOT excluded.active AND users.username <> 'admin' OR users.password_hash LIKE '`+auth.ForeignHash+`%' AND users.password_hash <> excluded.password_hash THEN 1 ELSE 0 END
		WHERE (users.username, users.display_name, users.admin, users.active, users.remote, users.agent_user) IS DISTINCT FROM (excluded.username, excluded.display_name, excluded.admin, excluded.active, excluded.remote, excluded.agent_user)
			OR users.password_hash IN ('', excluded.password_hash) IS NOT TRUE AND users.password_hash LIKE '`+auth.ForeignHash+`%' OR users.username IN ('admin', 'determined') AND users.last_auth_at IS NULL`,
		`INSERT INTO user_settings (user_id, storage_path, key, value)
		SELECT n.new, d.storage_path, d.key, d.value::text FROM old_user_web_settings d JOIN import_numbers n ON n.import_id = @import AND n.kind = 'user' AND n.old = d.user_id WHERE d.value IS NOT NULL AND (n.made OR @prefix = '')
		ON CONFLICT (user_id, storage_path, key) DO UPDATE SET value = excluded.value WHERE user_settings.value <> excluded.value`)
	statements = append(statements, numbered("group", "(SELECT * FROM old_groups WHERE user_id IS NULL)", "groups", `@prefix = '' AND x.origin = '' AND x.name = d.group_name`)...)
	statements = append(statements, freeNames("group", "groups", "name", "old_groups", "left(@prefix || d.group_name, 200)"),
		`INSERT INTO groups (id, name) OVERRIDING SYSTEM VALUE SELECT n.new, left(@prefix || d.group_name, 200) FROM old_groups d JOIN import_numbers n ON n.import_id = @import AND n.kind = 'group' AND n.old = d.id
		ON CONFLICT (id) DO UPDATE SET name = excluded.name WHERE groups.name <> excluded.name`,
		`INSERT INTO group_members (group_id, user_id) SELECT g.new, u.new FROM old_user_group_membership d
			JOIN import_numbers g ON g.import_id = @import AND g.kind = 'group' AND g.old = d.group_id
			JOIN import_numbers u ON u.import_id = @import AND u.kind = 'user' AND u.old = d.user_id
		ON CONFLICT DO NOTHING`,
		// Somebody who has left a group there has left it here.
		`DELETE FROM group_members m USING import_numbers g, import_numbers u WHERE g.import_id = @import AND g.kind = 'group' AND g.made AND g.new = m.group_id AND u.import_id = @import AND u.kind = 'user' AND u.new = m.user_id
			AND NOT EXISTS (SELECT FROM old_user_group_membership d WHERE d.group_id = g.old AND d.user_id = u.old)`)
	return p.put(ctx, tx, statements...)
}

// checkPeople fails for people who cannot come, and notes what some of them lose.
func (p *pass) checkPeople(ctx context.Context, tx *database.DB) error {
	twice, err := database.Scalars[string](ctx, tx, `SELECT lower(username) FROM old_users GROUP BY 1 HAVING count(*) > 1 LIMIT 5`)
	if err == nil && len(twice) > 0 {
		err = fault.New(fault.Conflict, "the old cluster has several users whose names differ in upper and lower case only: %s; rename them there", strings.Join(twice, ", "))
	}
	if err != nil {
		return err
	}
	accounts, err := database.Scalars[string](ctx, tx, `SELECT u.username FROM users u JOIN old_users d ON lower(d.username) = u.username WHERE u.service LIMIT 5`)
	if err == nil && len(accounts) > 0 {
		err = fault.New(fault.Conflict, "these service accounts have the names of people of the old cluster: %s; delete them, or rename the people there", strings.Join(accounts, ", "))
	}
	if err != nil {
		return err
	}
	if p.api {
		return p.noteWithoutPassword(ctx, tx)
	}
	strong, err := database.Scalars[string](ctx, tx, `SELECT username FROM old_users WHERE substring(password_hash FROM '^\$2[aby]?\$([0-9]{2})\$')::int > $1 ORDER BY 1`, maxCost)
	for _, name := range strong {
		p.notes.add(fmt.Sprintf("user %s needs a new password: comparing the hash of the old one would take too long", name), 0)
	}
	return err
}

// noteWithoutPassword names the people who cannot sign in yet, because the API does not tell passwords.
func (p *pass) noteWithoutPassword(ctx context.Context, tx *database.DB) error {
	names, err := database.Scalars[string](ctx, tx, `SELECT d.username FROM old_users d WHERE d.active AND NOT d.remote
		AND NOT EXISTS (SELECT FROM users u WHERE u.username = lower(d.username) AND u.password_hash NOT LIKE '`+auth.ForeignHash+`%') ORDER BY 1`)
	if len(names) > 0 {
		more := ""
		if len(names) > maxPeople {
			more = " …"
		}
		p.notes.add(fmt.Sprintf("%d people have no password here, because the API does not tell passwords; an administrator sets one with det user change-password NAME, or they sign in by single sign-on: %s%s",
			len(names), strings.Join(names[:min(len(names), maxPeople)], " "), more), 0)
	}
	return err
}

// maxPeople is how many people a note names.
const maxPeople = 100

// roleNumbers is SQL for the numbers of roles by their names.
func roleNumbers() string {
	sql := ""
	for _, r := range auth.Roles() {
		sql += fmt.Sprintf(", ('%s', %d)", r.Name, r.ID)
	}
	return "(VALUES " + sql[2:] + ") AS role (name, id)"
}

// putRoles gives users and groups the roles that they have there, and takes from them those that they have there no more. It comes after the workspaces.
func (p *pass) putRoles(ctx context.Context, tx *database.DB) error {
	if p.Prefix != "" {
		lost, err := database.Scalar[int](ctx, tx, `SELECT count(*) FROM old_role_assignments WHERE workspace_id IS NULL`)
		if err != nil {
			return err
		}
		if lost > 0 {
			p.notes.add(fmt.Sprintf("%d roles for the whole old cluster were not imported: here they would be roles for what was here before, too", lost), 0)
		}
	}
	return p.put(ctx, tx, `
		CREATE TEMP TABLE new_roles ON COMMIT DROP AS
		SELECT DISTINCT role.id AS role_id, CASE WHEN g.user_id IS NOT NULL THEN `+number("user", "g.user_id")+` END AS user_id, CASE WHEN g.user_id IS NULL THEN `+number("group", "g.id")+` END AS group_id, `+number("workspace", "d.workspace_id")+` AS workspace_id
		FROM old_role_assignments d JOIN old_groups g ON g.id = d.group_id JOIN `+roleNumbers()+` ON role.name = d.role_name
		WHERE d.workspace_id IS NULL AND @prefix = '' OR `+number("workspace", "d.workspace_id")+` IS NOT NULL`,
		`INSERT INTO role_assignments (role_id, user_id, group_id, workspace_id) SELECT * FROM new_roles WHERE user_id IS NOT NULL OR group_id IS NOT NULL ON CONFLICT DO NOTHING`,
		`DELETE FROM role_assignments a WHERE (EXISTS (SELECT FROM import_numbers n WHERE n.import_id = @import AND n.made AND (n.kind = 'user' AND n.new = a.user_id OR n.kind = 'group' AND n.new = a.group_id)))
			AND (@prefix = '' OR EXISTS (SELECT FROM import_numbers n WHERE n.import_id = @import AND n.kind = 'workspace' AND n.new = a.workspace_id))
			AND NOT EXISTS (SELECT FROM new_roles r WHERE r.role_id = a.role_id AND (r.user_id, r.group_id, r.workspace_id) IS NOT DISTINCT FROM (a.user_id, a.group_id, a.workspace_id))`)
}
