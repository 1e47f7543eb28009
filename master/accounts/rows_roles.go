package accounts

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// maxAssignments is the maximum number of roles of all users and groups.
const maxAssignments = 200_000

// An Assignment gives a role to a user, to a group, or to everybody (neither), in a workspace or everywhere.
type Assignment struct {
	RoleID      auth.RoleID `db:"role_id"`
	UserID      *int        `db:"user_id"`
	GroupID     *int        `db:"group_id"`
	WorkspaceID *int        `db:"workspace_id"` // nil: everywhere
}

// Roles says whether roles decide what users may do; else only owners and admins.
type Roles bool

// everybodysRoles selects the roles that everybody has.
const everybodysRoles = `SELECT a.role_id, a.workspace_id FROM role_assignments a WHERE a.user_id IS NULL AND a.group_id IS NULL`

// Grants is a column of a query with the alias u for users: their roles as pairs of role and workspace, or, if roles are
// not in use, everybody's; NULL if there are none. Read reads it.
func (r Roles) Grants() string {
	if !r {
		return `(SELECT json_agg(json_build_array(g.role_id, coalesce(g.workspace_id, 0))) FROM (` + everybodysRoles + `) g) AS grants`
	}
	return `(SELECT coalesce(json_agg(json_build_array(g.role_id, coalesce(g.workspace_id, 0))), '[]') FROM (
		SELECT a.role_id, a.workspace_id FROM role_assignments a WHERE a.user_id = u.id
		UNION ALL
		SELECT a.role_id, a.workspace_id FROM role_assignments a JOIN group_members m ON m.group_id = a.group_id WHERE m.user_id = u.id
		UNION ALL
		` + everybodysRoles + `) g) AS grants`
}

// Read reads what Grants selected: the roles of a user if roles are in use, else everybody's.
func (r Roles) Read(column []byte) (of, everybodys *auth.Grants, err error) {
	g, err := ReadGrants(column)
	if r {
		return g, nil, err
	}
	return nil, g, err
}

// ReadGrants reads the roles that Grants selected, whosever they are.
func ReadGrants(column []byte) (*auth.Grants, error) {
	if len(column) == 0 {
		return nil, nil
	}
	var pairs [][2]int
	if err := json.Unmarshal(column, &pairs); err != nil {
		return nil, err
	}
	g := auth.NewGrants(pairs)
	return &g, nil
}

// LockRoles lets one transaction at a time change roles, groups, or who is active, so that two
// ClusterAdmins cannot take the role from each other at once.
func LockRoles(ctx context.Context, db *database.DB) error {
	return db.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('roles', 0))`)
}

// ChangeWithRoles runs change in a transaction that begins with LockRoles and ends with KeepClusterAdmin.
func ChangeWithRoles(ctx context.Context, db *database.DB, roles Roles, change func(tx *database.DB) error) error {
	return db.Tx(ctx, func(tx *database.DB) error {
		if err := LockRoles(ctx, tx); err != nil {
			return err
		}
		if err := change(tx); err != nil {
			return err
		}
		return KeepClusterAdmin(ctx, tx, roles)
	})
}

// A service account is not counted: nobody could sign in with it to help.
const hasClusterAdmin = `SELECT EXISTS (SELECT FROM users u WHERE u.active AND NOT u.service AND EXISTS (
	SELECT FROM role_assignments a WHERE a.role_id = 1 AND a.workspace_id IS NULL
		AND (a.user_id = u.id OR a.group_id IN (SELECT m.group_id FROM group_members m WHERE m.user_id = u.id))))`

// KeepClusterAdmin fails, so that the transaction changes nothing, if roles are in use and no
// active user would remain a ClusterAdmin: nobody could assign a role again.
func KeepClusterAdmin(ctx context.Context, db *database.DB, roles Roles) error {
	if !roles {
		return nil
	}
	left, err := database.Scalar[bool](ctx, db, hasClusterAdmin)
	if err == nil && !left {
		err = fault.New(fault.Conflict, "no active user would remain a ClusterAdmin; assign the role to another user first, for the whole cluster")
	}
	return err
}

// BeginRoles is called when a master starts that uses roles. If none did before, the active admins
// of basic mode become ClusterAdmins; it returns their names.
func BeginRoles(ctx context.Context, db *database.DB) (made []string, err error) {
	err = db.Tx(ctx, func(tx *database.DB) error {
		if err := LockRoles(ctx, tx); err != nil {
			return err
		}
		since, err := database.Scalar[*time.Time](ctx, tx, `SELECT roles_since FROM cluster`)
		if err != nil {
			return err
		}
		left, err := database.Scalar[bool](ctx, tx, hasClusterAdmin)
		if err != nil || since != nil && left {
			return err
		}
		if made, err = database.Scalars[string](ctx, tx, `
			WITH given AS (INSERT INTO role_assignments (role_id, user_id) SELECT 1, id FROM users WHERE admin AND active ON CONFLICT DO NOTHING RETURNING user_id)
			SELECT u.username FROM given JOIN users u ON u.id = given.user_id ORDER BY u.id`); err != nil {
			return err
		}
		return tx.Exec(ctx, `UPDATE cluster SET roles_since = coalesce(roles_since, now())`)
	})
	return made, err
}

// EndRoles is called when a master starts that does not use roles.
func EndRoles(ctx context.Context, db *database.DB) error {
	return db.Exec(ctx, `UPDATE cluster SET roles_since = NULL WHERE roles_since IS NOT NULL`)
}

const assignmentColumns = `SELECT a.role_id, a.user_id, a.group_id, a.workspace_id FROM role_assignments a `

const assignmentOrder = ` ORDER BY a.role_id, a.user_id, a.group_id, a.workspace_id NULLS FIRST`

// Assignments lists all roles of users and groups.
func Assignments(ctx context.Context, db *database.DB) ([]Assignment, error) {
	return database.Rows[Assignment](ctx, db, assignmentColumns+assignmentOrder)
}

// AssignmentsOfUser lists the roles of a user, of the user's groups, and of everybody.
func AssignmentsOfUser(ctx context.Context, db *database.DB, user int) ([]Assignment, error) {
	return database.Rows[Assignment](ctx, db, assignmentColumns+`
		WHERE a.user_id = $1 OR a.group_id IN (SELECT m.group_id FROM group_members m WHERE m.user_id = $1) OR a.user_id IS NULL AND a.group_id IS NULL`+assignmentOrder, user)
}

// AssignmentsOfGroup lists the roles of a group.
func AssignmentsOfGroup(ctx context.Context, db *database.DB, group int) ([]Assignment, error) {
	return database.Rows[Assignment](ctx, db, assignmentColumns+`WHERE a.group_id = $1`+assignmentOrder, group)
}

// AssignmentsIn lists the roles that hold in one workspace alone.
func AssignmentsIn(ctx context.Context, db *database.DB, workspace int) ([]Assignment, error) {
	return database.Rows[Assignment](ctx, db, assignmentColumns+`WHERE a.workspace_id = $1`+assignmentOrder, workspace)
}

// Limits for who may assign roles in some workspaces only, such as those that they made: each look-up of a session reads all roles of its
// user and of everybody.
const (
	maxOwnersAssignments = maxAssignments / 4 // in all workspaces of one owner
	maxSameAssignments   = 500                // of those, of one user, of one group, or of everybody
)

// AssignRoles gives roles, and reports whether there is a new one. One that is given already stays as it is. wide says that the caller may
// assign roles everywhere, and has no limit but the cluster's.
func AssignRoles(ctx context.Context, db *database.DB, list []Assignment, wide bool) (changed bool, err error) {
	err = db.Tx(ctx, func(tx *database.DB) error {
		c := columnsOf(list)
		n, err := tx.Affect(ctx, `INSERT INTO role_assignments (role_id, user_id, group_id, workspace_id)
			SELECT DISTINCT role_id, user_id, group_id, workspace_id FROM `+assigned+` ORDER BY 1, 2, 3, 4 ON CONFLICT DO NOTHING`, c...)
		if changed = n > 0; err != nil || !changed {
			return err
		}
		if !wide {
			if err := boundAssignments(ctx, tx, list); err != nil {
				return err
			}
		}
		all, err := database.Scalar[int](ctx, tx, `SELECT count(*) FROM role_assignments`)
		if err == nil && all > maxAssignments {
			err = fault.New(fault.Invalid, "users and groups would have %d roles, and the limit is %d; give roles to groups, or for the whole cluster", all, maxAssignments)
		}
		return err
	})
	return changed, err
}

// assigned is a table of assignments, whose columns are $1 to $4.
const assigned = `unnest($1::int[], $2::int[], $3::int[], $4::int[]) x (role_id, user_id, group_id, workspace_id)`

func columnsOf(list []Assignment) []any {
	roles, users, groups, spaces := make([]int, len(list)), make([]*int, len(list)), make([]*int, len(list)), make([]*int, len(list))
	for i, a := range list {
		roles[i], users[i], groups[i], spaces[i] = int(a.RoleID), a.UserID, a.GroupID, a.WorkspaceID
	}
	return []any{roles, users, groups, spaces}
}

// boundAssignments fails if the workspaces of an owner have too many roles. The lock of each owner makes requests at the same time count
// each other's roles.
func boundAssignments(ctx context.Context, db *database.DB, list []Assignment) error {
	var spaces []int
	for _, a := range list {
		if a.WorkspaceID != nil {
			spaces = append(spaces, *a.WorkspaceID)
		}
	}
	owners, err := database.Scalars[int](ctx, db, `SELECT DISTINCT owner_id FROM workspaces WHERE id = ANY($1) ORDER BY 1`, spaces)
	if err != nil {
		return err
	}
	for _, owner := range owners {
		if err := db.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('roles in workspaces of ' || $1::int, 0))`, owner); err != nil {
			return err
		}
		type count struct {
			All  int `db:"every"`
			Same int `db:"same"`
		}
		n, err := database.Row[count](ctx, db, "roles", `SELECT coalesce(sum(n), 0)::int AS every, coalesce(max(n) FILTER (WHERE EXISTS (SELECT FROM `+assigned+`
				WHERE x.user_id IS NOT DISTINCT FROM g.user_id AND x.group_id IS NOT DISTINCT FROM g.group_id)), 0)::int AS same
			FROM (SELECT a.user_id, a.group_id, count(*) AS n FROM role_assignments a JOIN workspaces w ON w.id = a.workspace_id
				WHERE w.owner_id = $5 GROUP BY a.user_id, a.group_id) g`, append(columnsOf(list), owner)...)
		switch {
		case err != nil:
			return err
		case n.Same > maxSameAssignments:
			return fault.New(fault.Invalid, "a user, a group or everybody would have %d roles in the workspaces of one owner, and the limit is %d; a ClusterAdmin can assign more, or a role for the whole cluster",
				n.Same, maxSameAssignments)
		case n.All > maxOwnersAssignments:
			return fault.New(fault.Invalid, "the workspaces of one owner would have %d roles, and the limit is %d; give roles to groups", n.All, maxOwnersAssignments)
		}
	}
	return nil
}

// RemoveRoles takes roles, all or none.
func RemoveRoles(ctx context.Context, db *database.DB, roles Roles, list []Assignment) error {
	return db.Tx(ctx, func(tx *database.DB) error {
		ofAdmins := slices.ContainsFunc(list, func(a Assignment) bool { return a.RoleID == auth.ClusterAdmin })
		if ofAdmins {
			if err := LockRoles(ctx, tx); err != nil {
				return err
			}
		}
		left := map[string]bool{}
		for _, of := range []string{`a.user_id = x.user_id`, `a.group_id = x.group_id`, `a.user_id IS NULL AND a.group_id IS NULL AND x.user_id IS NULL AND x.group_id IS NULL`} {
			gone, err := database.Rows[Assignment](ctx, tx, `DELETE FROM role_assignments a USING `+assigned+`
				WHERE `+of+` AND a.role_id = x.role_id AND coalesce(a.workspace_id, 0) = coalesce(x.workspace_id, 0)
				RETURNING a.role_id, a.user_id, a.group_id, a.workspace_id`, columnsOf(list)...)
			if err != nil {
				return err
			}
			for _, a := range gone {
				left[a.words()] = true
			}
		}
		for _, a := range list {
			if !left[a.words()] {
				return fault.New(fault.NotFound, "%s is not assigned", a.words())
			}
		}
		if !ofAdmins {
			return nil
		}
		return KeepClusterAdmin(ctx, tx, roles)
	})
}

// words names an assignment in a message.
func (a Assignment) words() string {
	role, _ := auth.RoleByID(a.RoleID)
	text := "role " + role.Name + " of "
	if a.UserID != nil {
		text += "user " + strconv.Itoa(*a.UserID)
	} else if a.GroupID != nil {
		text += "group " + strconv.Itoa(*a.GroupID)
	} else {
		text += "everybody"
	}
	if a.WorkspaceID != nil {
		return text + " in workspace " + strconv.Itoa(*a.WorkspaceID)
	}
	return text + " for the whole cluster"
}

// An Owned counts the experiments of a user in a workspace.
type Owned struct {
	OwnerID     int `db:"owner_id"`
	WorkspaceID int `db:"workspace_id"`
	N           int `db:"n"`
}

// GrantsOf reads the roles of users, whether roles are in use or not.
func GrantsOf(ctx context.Context, db *database.DB, users []int) (map[int]auth.Grants, error) {
	list, err := database.Map[int, []byte](ctx, db, `SELECT u.id, `+Roles(true).Grants()+` FROM users u WHERE u.id = ANY($1)`, users)
	if err != nil {
		return nil, err
	}
	out := make(map[int]auth.Grants, len(list))
	for id, grants := range list {
		g, err := ReadGrants(grants)
		if err != nil {
			return nil, err
		}
		out[id] = *g
	}
	return out, nil
}
