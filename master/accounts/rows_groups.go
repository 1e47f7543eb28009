package accounts

import (
	"context"
	"slices"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
)

// maxGroups is the maximum number of groups, and maxMembers that of the memberships of all groups.
const (
	maxGroups  = 10_000
	maxMembers = 1_000_000
)

// A Group is a group of users.
type Group struct {
	ID      int    `db:"id"`
	Name    string `db:"name"`
	Origin  string `db:"origin"` // "": made here
	Members int    `db:"members"`
}

// GroupFilter chooses groups.
type GroupFilter struct {
	Name   string // its whole name
	UserID int    // with this member
	Seen   int    // of which this user is a member; 0: all
}

const groupSelect = `SELECT g.id, g.name, g.origin, (SELECT count(*) FROM group_members m WHERE m.group_id = g.id)::int AS members FROM groups g `

// Groups lists a page of groups in the order of their ids, and counts all that the filter chooses.
// A limit of 0 means all.
func Groups(ctx context.Context, db *database.DB, f GroupFilter, offset, limit int) (list []Group, total int, err error) {
	const where = `WHERE ($1 = '' OR g.name = $1)
		AND ($2 = 0 OR EXISTS (SELECT FROM group_members m WHERE m.group_id = g.id AND m.user_id = $2))
		AND ($3 = 0 OR EXISTS (SELECT FROM group_members m WHERE m.group_id = g.id AND m.user_id = $3))`
	if total, err = database.Scalar[int](ctx, db, `SELECT count(*)::int FROM groups g `+where, f.Name, f.UserID, f.Seen); err != nil {
		return nil, 0, err
	}
	list, err = database.Rows[Group](ctx, db, groupSelect+where+` ORDER BY g.id OFFSET $4 LIMIT $5`, f.Name, f.UserID, f.Seen, offset, database.Unlimited(limit))
	return list, total, err
}

func noGroup(id int) error { return fault.New(fault.NotFound, "group %d not found", id) }

// GroupByID reads a group.
func GroupByID(ctx context.Context, db *database.DB, id int) (Group, error) {
	g, err := database.Row[Group](ctx, db, "group", groupSelect+`WHERE g.id = $1`, id)
	return g, database.Missing(err, noGroup(id))
}

// GroupsByID reads those of these groups that exist.
func GroupsByID(ctx context.Context, db *database.DB, ids []int) ([]Group, error) {
	return database.Rows[Group](ctx, db, groupSelect+`WHERE g.id = ANY($1) ORDER BY g.id`, ids)
}

// IsMember reports whether a user is in a group.
func IsMember(ctx context.Context, db *database.DB, group, user int) (bool, error) {
	return database.Scalar[bool](ctx, db, `SELECT EXISTS (SELECT FROM group_members WHERE group_id = $1 AND user_id = $2)`, group, user)
}

// UsersByID reads those of these accounts that exist.
func UsersByID(ctx context.Context, db *database.DB, ids []int) ([]User, error) {
	return database.Rows[User](ctx, db, `SELECT `+UserColumns+` FROM users WHERE id = ANY($1) ORDER BY id`, ids)
}

// GroupUsers lists the members of groups, by group.
func GroupUsers(ctx context.Context, db *database.DB, groups []int) (map[int][]User, error) {
	type pair struct {
		GroupID int `db:"group_id"`
		UserID  int `db:"user_id"`
	}
	pairs, err := database.Rows[pair](ctx, db, `SELECT group_id, user_id FROM group_members WHERE group_id = ANY($1) ORDER BY group_id, user_id`, groups)
	if err != nil {
		return nil, err
	}
	ids := each.Of(pairs, func(p pair) int { return p.UserID })
	slices.Sort(ids)
	users, err := UsersByID(ctx, db, slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	byID := each.Keyed(users, func(u User) int { return u.ID })
	out := map[int][]User{}
	for _, p := range pairs {
		out[p.GroupID] = append(out[p.GroupID], byID[p.UserID])
	}
	return out, nil
}

// CreateGroup inserts a group with its members, and returns its id.
func CreateGroup(ctx context.Context, db *database.DB, name string, users []int) (id int, err error) {
	err = db.Tx(ctx, func(tx *database.DB) error {
		if err := BeginGroup(ctx, tx); err != nil {
			return err
		}
		id, err = database.Scalar[int](ctx, tx, `INSERT INTO groups (name) VALUES ($1) RETURNING id`, name)
		if err != nil {
			return database.Taken(err, fault.New(fault.Conflict, "group %q already exists", name))
		}
		return join(ctx, tx, []int{id}, users)
	})
	return id, err
}

// BeginGroup begins the creation of a group: it locks the roles, and fails if there are too many groups.
func BeginGroup(ctx context.Context, db *database.DB) error {
	if err := LockRoles(ctx, db); err != nil {
		return err
	}
	n, err := database.Scalar[int](ctx, db, `SELECT count(*)::int FROM groups`)
	if err == nil && n >= maxGroups {
		err = fault.New(fault.Invalid, "there are %d groups, which is the limit", n)
	}
	return err
}

// join adds users to groups; members stay members.
func join(ctx context.Context, db *database.DB, groups, users []int) error {
	if len(users) == 0 || len(groups) == 0 {
		return nil
	}
	known, err := UsersByID(ctx, db, users)
	if err != nil {
		return err
	}
	for _, id := range users {
		if !slices.ContainsFunc(known, func(u User) bool { return u.ID == id }) {
			return fault.New(fault.NotFound, "user %d not found", id)
		}
	}
	if err := db.Exec(ctx, `INSERT INTO group_members (group_id, user_id) SELECT g, u FROM unnest($1::int[]) g, unnest($2::int[]) u ON CONFLICT DO NOTHING`, groups, users); err != nil {
		return err
	}
	return CheckMembers(ctx, db)
}

// ChangeGroup renames a group unless the name is empty, adds users and removes users.
func ChangeGroup(ctx context.Context, db *database.DB, roles Roles, id int, name string, add, remove []int) error {
	return ChangeWithRoles(ctx, db, roles, func(tx *database.DB) error {
		if err := checkOwnGroups(ctx, tx, []int{id}); err != nil {
			return err
		}
		n, err := tx.Affect(ctx, `UPDATE groups SET name = coalesce(nullif($2, ''), name) WHERE id = $1`, id, name)
		switch {
		case fault.Is(err, fault.Conflict):
			return fault.New(fault.Conflict, "group %q already exists", name)
		case err != nil:
			return err
		case n == 0:
			return noGroup(id)
		}
		return regroup(ctx, tx, add, remove, []int{id}, []int{id})
	})
}

// ChangeMemberships adds users to groups, and removes them from groups.
func ChangeMemberships(ctx context.Context, db *database.DB, roles Roles, users, add, remove []int) error {
	return ChangeWithRoles(ctx, db, roles, func(tx *database.DB) error {
		known, err := GroupsByID(ctx, tx, slices.Concat(add, remove))
		if err != nil {
			return err
		}
		for _, id := range slices.Concat(add, remove) {
			if !slices.ContainsFunc(known, func(g Group) bool { return g.ID == id }) {
				return noGroup(id)
			}
		}
		return regroup(ctx, tx, users, users, add, remove)
	})
}

// regroup adds users to some groups and removes users from some.
func regroup(ctx context.Context, db *database.DB, add, remove, joined, left []int) error {
	if err := checkOwn(ctx, db, remove, joined, left); err != nil {
		return err
	}
	if err := join(ctx, db, joined, add); err != nil {
		return err
	}
	return db.Exec(ctx, `DELETE FROM group_members WHERE group_id = ANY($1) AND user_id = ANY($2)`, left, remove)
}

// DeleteGroup deletes a group with its roles.
func DeleteGroup(ctx context.Context, db *database.DB, roles Roles, id int) error {
	return ChangeWithRoles(ctx, db, roles, func(tx *database.DB) error {
		return tx.Change(ctx, noGroup(id), `DELETE FROM groups WHERE id = $1`, id)
	})
}
