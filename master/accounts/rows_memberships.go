package accounts

import (
	"context"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
)

// originOfProvider returns the origin of groups and memberships that sign-ins with a provider create.
func originOfProvider(name string) string { return "oidc:" + name }

// OriginSCIM is the origin of groups that a SCIM client made, and of their members.
const OriginSCIM = "scim"

// nameOrigin names an origin in a sentence.
func nameOrigin(origin string) string {
	if origin == OriginSCIM {
		return "SCIM"
	}
	return "the identity provider " + strings.TrimPrefix(origin, "oidc:")
}

// A ProviderGroup is a group of which a user is a member, according to an identity provider.
type ProviderGroup struct {
	Name string
	// Ours: the group may be one that administrators created here. Otherwise only a group that this
	// provider created counts: the same name alone gives nobody the roles of a group of this cluster.
	Ours bool
}

// Memberships are the groups of a user at an identity provider.
type Memberships struct {
	Provider string
	Create   bool // groups that do not exist
	Groups   []ProviderGroup
}

// names lists the groups; ours lists those that may have been created here.
func (m Memberships) names() (all, ours []string) {
	all, ours = []string{}, []string{}
	for _, g := range m.Groups {
		all = append(all, g.Name)
		if g.Ours {
			ours = append(ours, g.Name)
		}
	}
	return all, ours
}

// SyncMemberships makes the memberships that a provider gave a user equal to those that it names
// now, and returns the names of the groups that the user joined and left. Memberships that
// administrators or others gave stay.
func SyncMemberships(ctx context.Context, db *database.DB, roles Roles, userID int, m Memberships) (joined, left []string, err error) {
	origin := originOfProvider(m.Provider)
	all, ours := m.names()
	same, err := sameMemberships(ctx, db, userID, m)
	if err != nil || same {
		return nil, nil, err
	}
	err = db.Tx(ctx, func(tx *database.DB) error {
		if err := LockRoles(ctx, tx); err != nil {
			return err
		}
		if m.Create {
			if err := createMissing(ctx, tx, all, origin); err != nil {
				return err
			}
		}
		wanted, err := database.Rows[Group](ctx, tx, groupSelect+`WHERE g.name = ANY($1) AND (g.origin = $2 OR g.origin = '' AND g.name = ANY($3))`, all, origin, ours)
		if err != nil {
			return err
		}
		ids := each.Of(wanted, func(g Group) int { return g.ID })
		if left, err = database.Scalars[string](ctx, tx, `WITH gone AS (DELETE FROM group_members WHERE user_id = $1 AND origin = $2 AND NOT group_id = ANY($3) RETURNING group_id)
			SELECT name FROM groups WHERE id IN (SELECT group_id FROM gone) ORDER BY name`, userID, origin, ids); err != nil {
			return err
		}
		if joined, err = database.Scalars[string](ctx, tx, `WITH made AS (INSERT INTO group_members (group_id, user_id, origin) SELECT g, $1, $2 FROM unnest($3::int[]) g ON CONFLICT DO NOTHING RETURNING group_id)
			SELECT name FROM groups WHERE id IN (SELECT group_id FROM made) ORDER BY name`, userID, origin, ids); err != nil {
			return err
		}
		if len(joined) > 0 {
			if err := CheckMembers(ctx, tx); err != nil {
				return err
			}
		}
		if len(left) > 0 {
			return KeepClusterAdmin(ctx, tx, roles)
		}
		return nil
	})
	return joined, left, err
}

// sameMemberships reports whether there is nothing to change. Most sign-ins change nothing, and do not wait for changes of others.
func sameMemberships(ctx context.Context, db *database.DB, userID int, m Memberships) (bool, error) {
	all, ours := m.names()
	return database.Scalar[bool](ctx, db, `
		WITH wanted AS (SELECT g.id FROM groups g WHERE g.name = ANY($1) AND (g.origin = $2 OR g.origin = '' AND g.name = ANY($3)))
		SELECT NOT EXISTS (SELECT FROM group_members WHERE user_id = $4 AND origin = $2 AND group_id NOT IN (SELECT id FROM wanted))
			AND NOT EXISTS (SELECT FROM wanted WHERE id NOT IN (SELECT group_id FROM group_members WHERE user_id = $4))
			AND NOT ($5 AND EXISTS (SELECT FROM unnest($1::text[]) n WHERE n NOT IN (SELECT name FROM groups)))`,
		all, originOfProvider(m.Provider), ours, userID, m.Create)
}

// createMissing creates those of these groups that do not exist.
func createMissing(ctx context.Context, db *database.DB, names []string, origin string) error {
	made, err := db.Affect(ctx, `INSERT INTO groups (name, origin) SELECT DISTINCT n, $2 FROM unnest($1::text[]) n ON CONFLICT DO NOTHING`, names, origin)
	if err != nil || made == 0 {
		return err
	}
	n, err := database.Scalar[int](ctx, db, `SELECT count(*)::int FROM groups`)
	if err == nil && n > maxGroups {
		err = fault.New(fault.Forbidden, "there would be %d groups, and the limit is %d; an administrator can choose groups of %s with sync_groups and group_names", n, maxGroups, nameOrigin(origin))
	}
	return err
}

// CheckMembers fails if there are too many memberships.
func CheckMembers(ctx context.Context, db *database.DB) error {
	n, err := database.Scalar[int](ctx, db, `SELECT count(*)::int FROM group_members`)
	if err == nil && n > maxMembers {
		err = fault.New(fault.Invalid, "groups would have %d members together, and the limit is %d", n, maxMembers)
	}
	return err
}

// checkOwnGroups fails if one of these groups belongs to a provider or a SCIM client: its name and its
// members are changed there, and a change here would be lost or would contradict it.
func checkOwnGroups(ctx context.Context, db *database.DB, ids []int) error {
	list, err := database.Rows[Group](ctx, db, groupSelect+`WHERE g.id = ANY($1) AND g.origin <> '' ORDER BY g.id LIMIT 1`, ids)
	if err != nil || len(list) == 0 {
		return err
	}
	return fault.New(fault.Conflict, "the group %q comes from %s: change its name and its members there", list[0].Name, nameOrigin(list[0].Origin))
}

// checkOwnMemberships fails if one of these users is in one of these groups because of another
// origin: the user would be in it again at the next sign-in.
func checkOwnMemberships(ctx context.Context, db *database.DB, groups, users []int) error {
	type found struct {
		Name     string `db:"name"`
		Username string `db:"username"`
		Origin   string `db:"origin"`
	}
	list, err := database.Rows[found](ctx, db, `SELECT g.name, u.username, m.origin FROM group_members m JOIN groups g ON g.id = m.group_id JOIN users u ON u.id = m.user_id
		WHERE m.group_id = ANY($1) AND m.user_id = ANY($2) AND m.origin <> '' ORDER BY m.group_id, m.user_id LIMIT 1`, groups, users)
	if err != nil || len(list) == 0 {
		return err
	}
	return fault.New(fault.Conflict, "%s is in the group %q because of %s: change it there", list[0].Username, list[0].Name, nameOrigin(list[0].Origin))
}

// checkOwn checks a change of memberships that a user of this cluster requests.
func checkOwn(ctx context.Context, db *database.DB, remove, joined, left []int) error {
	if err := checkOwnGroups(ctx, db, slices.Concat(joined, left)); err != nil {
		return err
	}
	return checkOwnMemberships(ctx, db, left, remove)
}
