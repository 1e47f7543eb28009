package scim

import (
	"context"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
)

// A Group is a group that the SCIM client made.
type Group struct {
	ID         int       `db:"id"`
	Name       string    `db:"name"`
	ExternalID string    `db:"external_id"`
	CreatedAt  time.Time `db:"created_at"`
	ModifiedAt time.Time `db:"modified_at"`
}

const selectGroups = `SELECT g.id, g.name, g.external_id, g.created_at, g.modified_at FROM groups g `

const whereGroups = `WHERE g.origin = 'scim' AND NOT @nothing AND (@id::int IS NULL OR g.id = @id) AND (@name::text IS NULL OR lower(g.name) = lower(@name))
	AND (@external::text IS NULL OR g.external_id = @external)
	AND (@member::int IS NULL OR EXISTS (SELECT FROM group_members m WHERE m.group_id = g.id AND m.user_id = @member))`

// Groups lists a page of the groups that the SCIM client made, and counts all that the filter
// chooses.
func Groups(ctx context.Context, db *database.DB, f Filter, offset, limit int) ([]Group, int, error) {
	args := f.args(offset, limit)
	total, err := database.Scalar[int](ctx, db, `SELECT count(*)::int FROM groups g `+whereGroups, args)
	if err != nil || limit == 0 {
		return nil, total, err
	}
	list, err := database.Rows[Group](ctx, db, selectGroups+whereGroups+` ORDER BY g.id OFFSET @offset LIMIT @limit`, args)
	return list, total, err
}

// GroupByID reads a group that the SCIM client made.
func GroupByID(ctx context.Context, db *database.DB, id int) (Group, error) {
	g, err := database.Row[Group](ctx, db, "resource", selectGroups+`WHERE g.id = $1 AND g.origin = 'scim'`, id)
	return g, database.Missing(err, noResource(id))
}

// A Member is a member of a group, by names.
type Member struct {
	GroupID  int    `db:"group_id"`
	UserID   int    `db:"user_id"`
	Username string `db:"username"`
	Group    string `db:"name"`
}

// Members lists the members of groups and, if users are given, the memberships of those users
// in the client's groups.
func Members(ctx context.Context, db *database.DB, groups, users []int) ([]Member, error) {
	return database.Rows[Member](ctx, db, `SELECT m.group_id, m.user_id, u.username, g.name FROM group_members m JOIN users u ON u.id = m.user_id JOIN groups g ON g.id = m.group_id
		WHERE m.origin = 'scim' AND g.origin = 'scim' AND (m.group_id = ANY($1) OR m.user_id = ANY($2)) ORDER BY m.group_id, m.user_id`, groups, users)
}

// CreateGroup creates a group. It does not take over an existing group, because that may have roles.
func CreateGroup(ctx context.Context, db *database.DB, name, externalID string, members []int) (g Group, err error) {
	err = db.Tx(ctx, func(tx *database.DB) error {
		if err := accounts.BeginGroup(ctx, tx); err != nil {
			return err
		}
		id, err := database.Scalar[int](ctx, tx, `INSERT INTO groups (name, origin, external_id) VALUES ($1, 'scim', $2) RETURNING id`, name, externalID)
		if fault.Is(err, fault.Conflict) {
			return takenGroup(name)
		}
		if err == nil {
			err = join(ctx, tx, id, members)
		}
		if err == nil {
			g, err = GroupByID(ctx, tx, id)
		}
		return err
	})
	return g, err
}

func takenGroup(name string) error {
	return fault.New(fault.Conflict, "group %q already exists, and SCIM cannot take over an existing group", fault.Clip(name))
}

// join adds members to a group of the client. They must be users that it manages.
func join(ctx context.Context, db *database.DB, group int, users []int) error {
	if len(users) == 0 {
		return nil
	}
	managed, err := database.Scalars[int](ctx, db, `SELECT user_id FROM scim_users WHERE user_id = ANY($1) AND deleted_at IS NULL`, users)
	if err != nil {
		return err
	}
	known := each.Set(managed, func(id int) int { return id })
	if i := slices.IndexFunc(users, func(id int) bool { return !known[id] }); i >= 0 {
		return fault.New(fault.Invalid, "members: there is no user %d", users[i])
	}
	if err := db.Exec(ctx, `INSERT INTO group_members (group_id, user_id, origin) SELECT $1, u, 'scim' FROM unnest($2::int[]) u ON CONFLICT DO NOTHING`, group, users); err != nil {
		return err
	}
	return accounts.CheckMembers(ctx, db)
}

// A GroupChange changes a group. Nil leaves a text as it is.
type GroupChange struct {
	Name, ExternalID *string
	Clear            bool // all members leave first
	Add, Remove      []int
}

// ChangeGroup changes a group that the SCIM client made.
func ChangeGroup(ctx context.Context, db *database.DB, roles accounts.Roles, id int, ch GroupChange) (g Group, err error) {
	err = accounts.ChangeWithRoles(ctx, db, roles, func(tx *database.DB) error {
		n, err := tx.Affect(ctx, `UPDATE groups SET name = coalesce($2, name), external_id = coalesce($3, external_id), modified_at = now() WHERE id = $1 AND origin = 'scim'`, id, ch.Name, ch.ExternalID)
		switch {
		case fault.Is(err, fault.Conflict):
			return takenGroup(*ch.Name)
		case err != nil:
			return err
		case n == 0:
			return noResource(id)
		}
		if err := tx.Exec(ctx, `DELETE FROM group_members WHERE group_id = $1 AND ($2 AND NOT user_id = ANY($3) OR user_id = ANY($4))`, id, ch.Clear, append([]int{}, ch.Add...), append([]int{}, ch.Remove...)); err != nil {
			return err
		}
		if err := join(ctx, tx, id, ch.Add); err != nil {
			return err
		}
		g, err = GroupByID(ctx, tx, id)
		return err
	})
	return g, err
}

// DeleteGroup deletes a group that the SCIM client made, with its roles.
func DeleteGroup(ctx context.Context, db *database.DB, roles accounts.Roles, id int) error {
	return accounts.ChangeWithRoles(ctx, db, roles, func(tx *database.DB) error {
		return tx.Change(ctx, noResource(id), `DELETE FROM groups WHERE id = $1 AND origin = 'scim'`, id)
	})
}
